import type { RollupPeriod, SeriesName, SeriesScope } from '../contract.ts';
import type {
  BackendRollups,
  Mark,
  MarkCount,
  RollupRow,
  RollupRowsQuery,
} from '../rollups/backend-rollups.ts';
import { isInScope } from '../rollups/limits.ts';
import { ROW_US } from '../rollups/periods.ts';
import { translated } from './errors.ts';
import { KeyedLog } from './keyed-log.ts';
import { isTexts } from './mapping.ts';
import { fileOf, fromDocument, RollupFiles, toDocument } from './rollup-files.ts';
import type { Layout } from './schema.ts';
import type { SkippedLines } from './skipped-lines.ts';

/** Rows in one removal. */
const REMOVE_ROWS = 5000;

interface MarkDocument {
  readonly due: number;
  readonly erased: boolean;
}

type State = Readonly<Record<string, string>>;

/**
 * Marks in `marks.jsonl`, which are all in memory (about 400 bytes for each), the state in `state.jsonl`, and rows in the
 * folder `rollups`.
 */
export class JsonRollups implements BackendRollups {
  readonly #folder: string;
  readonly #files: RollupFiles;
  readonly #marks: KeyedLog<MarkDocument>;
  readonly #known = new Map<string, MarkDocument>();
  readonly #states: KeyedLog<State>;

  constructor(layout: Layout, skipped: SkippedLines) {
    this.#folder = layout.folder;
    this.#files = new RollupFiles(layout.rollups, skipped);
    const known = this.#known;
    const marks = {
      is: isMark,
      held: (key: string) => known.get(key),
      reset: () => known.clear(),
      changed: (key: string, document: MarkDocument | null) => {
        if (document === null) known.delete(key);
        else known.set(key, document);
      },
    };
    this.#marks = new KeyedLog(layout.folder, 'marks', marks, skipped);
    const states = { is: isTexts, held: () => undefined, reset: () => {}, changed: () => {} };
    this.#states = new KeyedLog(layout.folder, 'state', states, skipped);
  }

  async putMarks(marks: readonly Mark[]): Promise<void> {
    const given = new Map(marks.map((mark) => [keyOf(mark, mark.hour), mark]));
    await this.#translated(() =>
      this.#marks.change({
        keys: () => given.keys(),
        apply: (key, current) => {
          const { due, erased } = given.get(key)!;
          if (current === null) return { due, erased };
          if (current.due >= due && (current.erased || !erased)) return current;
          return { due: Math.max(current.due, due), erased: current.erased || erased };
        },
      }),
    );
  }

  async dueMarks(due: number, limit: number): Promise<Mark[]> {
    const marks = await this.#read(() => [...this.#known].filter(([, mark]) => mark.due <= due));
    return marks
      .sort(([, a], [, b]) => a.due - b.due)
      .slice(0, limit)
      .map(([key, document]) => toMark(key, document));
  }

  async marksOf(series: SeriesName, from: number, to: number): Promise<Mark[]> {
    const prefix = `${series.device} ${series.metric} `;
    const marks = await this.#read(() => [...this.#known].filter(([key]) => key.startsWith(prefix)));
    return marks
      .map(([key, document]) => toMark(key, document))
      .filter(({ hour }) => hour >= from && hour < to)
      .sort((a, b) => a.hour - b.hour);
  }

  async removeMarks(marks: readonly Mark[]): Promise<void> {
    const done = new Map(marks.map((mark) => [keyOf(mark, mark.hour), mark.due]));
    await this.#translated(() =>
      this.#marks.change({
        keys: () => done.keys(),
        apply: (key, current) => (current?.due === done.get(key) ? null : current),
      }),
    );
  }

  countMarks(): Promise<MarkCount> {
    return this.#read(() => {
      let [hour, due] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
      for (const [key, mark] of this.#known) {
        hour = Math.min(hour, startOf(key));
        due = Math.min(due, mark.due);
      }
      const marks = this.#known.size;
      return marks === 0 ? { marks, hour: null, due: null } : { marks, hour, due };
    });
  }

  /** The finer rows first, so that a crash never leaves the coarser ones alone. */
  async putRows(rows: readonly RollupRow[]): Promise<void> {
    await this.#translated(async () => {
      for (const [name, some] of Map.groupBy(rows, ({ period, start }) => fileOf(period, start))) {
        const given = new Map(some.map((row) => [keyOf(row, row.start), toDocument(row.periods)]));
        await this.#files.use(name, (log) =>
          log.change({ keys: () => given.keys(), apply: (key) => given.get(key)! }),
        );
      }
    });
  }

  async *rows({ device, metric, period, from, to }: RollupRowsQuery): AsyncGenerator<RollupRow> {
    const first = fileOf(period, Math.max(from, 0));
    const last = fileOf(period, to);
    const names = await this.#translated(() => this.#files.names(period));
    for (const name of names) {
      if (name < first || name > last) continue;
      const starts = startsOf(name, period).filter((start) => start >= from && start < to);
      const keys = starts.map((start) => keyOf({ device, metric }, start));
      const found = await this.#translated(() => this.#files.use(name, (log) => log.documents(() => keys)));
      for (const key of keys) {
        const document = found.get(key);
        if (document === undefined) continue;
        yield { device, metric, period, start: startOf(key), periods: fromDocument(document) };
      }
    }
  }

  async *series(): AsyncGenerator<SeriesName> {
    for (const name of await this.#translated(() => this.#files.names('day'))) {
      const keys = await this.#translated(() =>
        this.#files.use(name, (log) => log.read(() => log.allKeys())),
      );
      for (const key of keys) yield seriesOf(key);
    }
  }

  removeRows(period: RollupPeriod, before: number, scope: SeriesScope): Promise<number | null> {
    return this.#translated(async () => {
      for (const name of await this.#files.names(period)) {
        const starts = startsOf(name, period);
        if (starts[0]! >= before) return null;
        const removed = await this.#files.use(name, async (log) => {
          const old = (await log.read(() => log.allKeys())).filter(
            (key) => startOf(key) < before && isInScope(seriesOf(key), scope),
          );
          // All lines of an old file go with it.
          if (old.length === log.keys && starts.at(-1)! < before) {
            await log.drop(() => {});
            return old.length;
          }
          const some = old.slice(0, REMOVE_ROWS);
          if (some.length > 0) await log.change({ keys: () => some, apply: () => null });
          return some.length;
        });
        if (removed > 0) return removed;
      }
      return null;
    });
  }

  getState(name: string): Promise<string | null> {
    return this.#translated(async () => {
      const found = await this.#states.documents(() => [name]);
      return found.get(name)?.value ?? null;
    });
  }

  async setState(name: string, value: string): Promise<void> {
    await this.#translated(() => this.#states.change({ keys: () => [name], apply: () => ({ value }) }));
  }

  async ensureState(name: string, value: string): Promise<void> {
    await this.#translated(() =>
      this.#states.change({ keys: () => [name], apply: (_key, current) => current ?? { value } }),
    );
  }

  async close(): Promise<void> {
    await this.#files.close();
    await this.#marks.close();
    await this.#states.close();
  }

  #read<T>(answer: () => T): Promise<T> {
    return this.#translated(() => this.#marks.read(answer));
  }

  #translated<T>(call: () => Promise<T>): Promise<T> {
    return translated(this.#folder, call);
  }
}

/** Names have no blanks. */
function keyOf({ device, metric }: SeriesName, time: number): string {
  return `${device} ${metric} ${time}`;
}

function seriesOf(key: string): SeriesName {
  const [device, metric] = key.split(' ');
  return { device: device!, metric: metric! };
}

function startOf(key: string): number {
  return Number(key.slice(key.lastIndexOf(' ') + 1));
}

function toMark(key: string, { due, erased }: MarkDocument): Mark {
  return { ...seriesOf(key), hour: startOf(key), due, erased };
}

function isMark(value: unknown): value is MarkDocument {
  const { due, erased } = (value ?? {}) as Partial<MarkDocument>;
  return typeof due === 'number' && typeof erased === 'boolean';
}

/** The starts that rows of a file can have, ascending. */
function startsOf(name: string, period: RollupPeriod): number[] {
  const date = name.slice(period.length + 1);
  const next = new Date(date);
  if (period === 'minute') next.setUTCDate(next.getUTCDate() + 1);
  else if (period === 'hour') next.setUTCMonth(next.getUTCMonth() + 1);
  else next.setUTCFullYear(next.getUTCFullYear() + 1);
  const [first, end] = [Date.parse(date) * 1000, next.getTime() * 1000];
  const length = ROW_US[period];
  return Array.from({ length: (end - first) / length }, (_, index) => first + index * length);
}
