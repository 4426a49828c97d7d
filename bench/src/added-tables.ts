import type { MeasuredOperation } from '@tidegauge/loadtests/drivers/record-driver';
import { type AddedLatency, halfWidth, type Interval } from './added-latency.ts';
import type { OperationDemand } from './operation-demand.ts';

/** One workload on one store with one number of threads. */
export interface AddedResult {
  readonly store: string;
  readonly workload: string;
  readonly threads: number;
  readonly blocks: number;
  /** Operations per second of the store alone, and through the application. */
  readonly rate: { readonly raw: number; readonly app: number };
  /** By type of operation. */
  readonly operations: Readonly<Record<string, AddedLatency>>;
  readonly demand: { readonly raw: OperationDemand; readonly app: OperationDemand };
}

const OPERATIONS: readonly (readonly [operation: MeasuredOperation, heading: string])[] = [
  ['read', 'read'],
  ['update', 'update'],
  ['insert', 'insert'],
  ['scan', 'scan'],
  ['readModifyWrite', 'read-modify-write'],
];
const NONE = '–';
const MOST_DECIMALS = 3;

/** A row for each store and number of threads: each operation in the workload in which it is most frequent. */
export function headlineTable(results: readonly AddedResult[]): string {
  const groups = Map.groupBy(results, ({ store, threads }) => `${store} ${threads}`);
  const rows = [...groups.values()].map((some) => {
    const { store, threads } = some[0]!;
    const cells = OPERATIONS.map(([operation]) => {
      const added = mostFrequent(some, operation);
      return added === null ? NONE : cost(added.raw.median, added.median);
    });
    return [store, String(threads), ...cells];
  });
  const caption =
    'Median milliseconds of an operation: the store alone + what the application adds ± half of its 95 % interval. ' +
    `Each operation is from the workload in which it is most frequent; ${NONE}: not measured.`;
  return `${caption}\n\n${markdownTable(['store', 'threads', ...OPERATIONS.map(([, heading]) => heading)], rows)}`;
}

/** A row for each operation of each workload, with mean and 99th percentile. */
function latencyTable(results: readonly AddedResult[]): string {
  const rows = results.flatMap(({ store, workload, threads, operations }) =>
    OPERATIONS.flatMap(([operation, heading]) => {
      const added = operations[operation];
      if (added === undefined) return [];
      const { raw, median, mean, p99 } = added;
      const figures = [
        [raw.median, median],
        [raw.mean, mean],
        [raw.p99, p99],
      ] as const;
      return [
        [
          ...[store, workload, String(threads), heading, String(added.operations)],
          ...figures.map(([alone, added]) => cost(alone, added)),
        ],
      ];
    }),
  );
  const header = ['store', 'workload', 'threads', 'operation', 'number', 'median ms', 'mean ms', 'p99 ms'];
  return markdownTable(header, rows);
}

/** A row for each workload: what an operation uses, on the store alone and through the application. */
function demandTable(results: readonly AddedResult[]): string {
  const rows = results.map(({ store, workload, threads, rate, demand: { raw, app } }) => [
    ...[store, workload, String(threads)],
    `${rate.raw.toFixed(0)}, ${rate.app.toFixed(0)}`,
    `${raw.storeCalls.toFixed(2)}, ${app.storeCalls.toFixed(2)}`,
    `${whole(raw.cpuMicros.client)}, ${whole(app.cpuMicros.client)}`,
    whole(app.cpuMicros.api),
    `${whole(raw.cpuMicros.store)}, ${whole(app.cpuMicros.store)}`,
    `${whole(raw.bytes.client)}, ${whole(app.bytes.api)}`,
  ]);
  const header = [
    ...['store', 'workload', 'threads', 'operations/s', 'store calls', 'client CPU µs', 'API CPU µs'],
    ...['store CPU µs', 'bytes of the caller'],
  ];
  return markdownTable(header, rows);
}

/** All tables, as Markdown. Two figures in a cell are of the store alone and through the application. */
export function addedTables(results: readonly AddedResult[]): string {
  const parts = [
    headlineTable(results),
    '## By workload',
    latencyTable(results),
    '## For each operation',
    'The store alone, through the application. The bytes are those that the process that calls the store reads and writes.',
    demandTable(results),
  ];
  return `${parts.join('\n\n')}\n`;
}

function mostFrequent(results: readonly AddedResult[], operation: MeasuredOperation): AddedLatency | null {
  let best: { share: number; added: AddedLatency } | null = null;
  for (const { operations } of results) {
    const added = operations[operation];
    if (added === undefined) continue;
    const all = OPERATIONS.reduce((sum, [each]) => sum + (operations[each]?.operations ?? 0), 0);
    const share = added.operations / all;
    if (best === null || share > best.share) best = { share, added };
  }
  return best?.added ?? null;
}

/** `0.32 + 0.25 ± 0.01`, with as many decimals as the interval allows. */
function cost(alone: number, added: Interval | null): string {
  if (added === null) return `${alone.toFixed(MOST_DECIMALS)} + ?`;
  const decimals = decimalsOf(added);
  const figures = [alone, added.value, halfWidth(added)].map((value) => value.toFixed(decimals));
  return `${figures[0]} + ${figures[1]} ± ${figures[2]}`;
}

/** Decimals that show one digit of the half-width. */
function decimalsOf(interval: Interval): number {
  const half = halfWidth(interval);
  if (half <= 0) return MOST_DECIMALS;
  return Math.min(MOST_DECIMALS, Math.max(0, -Math.floor(Math.log10(half))));
}

function whole(value: number | null): string {
  return value === null ? NONE : value.toFixed(0);
}

/** A table of Markdown, without a line break at its end. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
