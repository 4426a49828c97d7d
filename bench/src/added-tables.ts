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

const FIGURES = ['median', 'mean', 'p99'] as const;
const DEMANDS: readonly (readonly [heading: string, of: (demand: OperationDemand) => number | null])[] = [
  ['store calls', ({ storeCalls }) => storeCalls],
  ['client CPU µs', ({ cpuMicros }) => cpuMicros.client],
  ['API CPU µs', ({ cpuMicros }) => cpuMicros.api],
  ['store CPU µs', ({ cpuMicros }) => cpuMicros.store],
  ['client bytes', ({ bytes }) => bytes.client],
  ['API bytes', ({ bytes }) => bytes.api],
];
const SIDES = ['raw', 'app'] as const;

const COLUMNS: readonly string[] = [
  ...['store', 'workload', 'threads', 'operation', 'number'],
  ...FIGURES.flatMap((figure) => ['alone', 'added', 'half width'].map((part) => `${figure} ${part} ms`)),
  ...['operations/s', ...DEMANDS.map(([heading]) => heading)].flatMap((heading) =>
    SIDES.map((side) => `${heading} ${side}`),
  ),
];
/** Cells by column. What was not measured is null or absent. */
type Row = Record<string, string | number | null>;

/**
 * All figures as CSV. A row for each operation of each workload has its latencies, milliseconds: of the store alone, what
 * the application adds, and half of its 95 % interval. A row for any operation of a workload has rates and what one uses,
 * of the store alone (raw) and through the application (app). Bytes are those that the process reads and writes.
 */
export function addedCsv(results: readonly AddedResult[]): string {
  const rows = results.flatMap((result) => {
    const { store, workload, threads } = result;
    return [...latencyRows(result), demandRow(result)].map(
      (row): Row => ({ store, workload, threads, ...row }),
    );
  });
  const lines = rows.map((row) => COLUMNS.map((column) => cellText(row[column] ?? '')));
  return `${[COLUMNS, ...lines].map((cells) => cells.join(',')).join('\n')}\n`;
}

function latencyRows({ operations }: AddedResult): Row[] {
  return OPERATIONS.flatMap(([operation, heading]) => {
    const added = operations[operation];
    if (added === undefined) return [];
    const row: Row = { operation: heading, number: String(added.operations) };
    for (const figure of FIGURES) {
      const interval = added[figure];
      row[`${figure} alone ms`] = added.raw[figure];
      if (interval === null) continue;
      row[`${figure} added ms`] = interval.value;
      row[`${figure} half width ms`] = halfWidth(interval);
    }
    return [row];
  });
}

function demandRow({ rate, demand }: AddedResult): Row {
  const row: Row = { operation: 'any' };
  for (const side of SIDES) {
    row[`operations/s ${side}`] = rate[side];
    for (const [heading, of] of DEMANDS) row[`${heading} ${side}`] = of(demand[side]);
  }
  return row;
}

/** A number with four digits, as many as any of these figures has. */
function cellText(cell: string | number): string {
  return typeof cell === 'string' ? cell : String(Number(cell.toPrecision(4)));
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

/** A table of Markdown, without a line break at its end. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
