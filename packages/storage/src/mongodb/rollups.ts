import { Binary } from 'mongodb';
import type { RollupPeriod, SeriesName, SeriesScope } from '../contract.ts';
import type {
  BackendRollups,
  Mark,
  MarkCount,
  RollupRow,
  RollupRowsQuery,
} from '../rollups/backend-rollups.ts';
import { decodeFigures, encodeFigures } from '../rollups/encoding.ts';
import { PERIOD_US } from '../rollups/periods.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';
import type { MarkDocument } from './mapping.ts';

const REMOVE_ROWS = 5000;

/** Marks, rows of rollups and the state in collections: see `schema.ts`. */
export class MongodbRollups implements BackendRollups {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  putMarks(marks: readonly Mark[]): Promise<void> {
    const operations = marks.map(({ device, metric, hour, due, erased }) => ({
      updateOne: {
        filter: { _id: { d: device, m: metric, h: hour } },
        update: { $max: { due, erased: erased ? 1 : 0 } },
        upsert: true,
      },
    }));
    const put = () => this.#db.marks.bulkWrite(operations, { ordered: false });
    return this.#db.run(async () => {
      // If two processes find no document, one of them is refused.
      await put().catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
        return put();
      });
    });
  }

  dueMarks(due: number, limit: number): Promise<Mark[]> {
    return this.#db.run(async () => {
      const found = this.#db.marks
        .find({ due: { $lte: due } })
        .sort({ due: 1 })
        .limit(limit);
      return (await found.toArray()).map(toMark);
    });
  }

  marksOf({ device, metric }: SeriesName, from: number, to: number): Promise<Mark[]> {
    const id = (h: number) => ({ d: device, m: metric, h });
    return this.#db.run(async () => {
      const found = this.#db.marks.find({ _id: { $gte: id(from), $lt: id(to) } }).sort({ _id: 1 });
      return (await found.toArray()).map(toMark);
    });
  }

  async removeMarks(marks: readonly Mark[]): Promise<void> {
    const operations = marks.map(({ device, metric, hour, due }) => ({
      deleteOne: { filter: { _id: { d: device, m: metric, h: hour }, due } },
    }));
    await this.#db.run(() => this.#db.marks.bulkWrite(operations, { ordered: false }));
  }

  countMarks(): Promise<MarkCount> {
    return this.#db.run(async () => {
      const group = {
        _id: null,
        marks: { $sum: 1 },
        hour: { $min: '$_id.h' },
        due: { $min: '$due' },
      };
      const [found] = await this.#db.marks.aggregate([{ $group: group }]).toArray();
      return found === undefined
        ? { marks: 0, hour: null, due: null }
        : { marks: Number(found.marks), hour: Number(found.hour), due: Number(found.due) };
    });
  }

  /** In order, so that a crash leaves the finer rows without the coarser ones, and never the opposite. */
  async putRows(rows: readonly RollupRow[]): Promise<void> {
    const operations = rows.map(({ device, metric, period, start, periods }) => ({
      replaceOne: {
        filter: { _id: { d: device, m: metric, p: period, s: start } },
        replacement: { f: new Binary(encodeFigures(periods, start, PERIOD_US[period])) },
        upsert: true,
      },
    }));
    await this.#db.run(() => this.#db.rollups.bulkWrite(operations, { ordered: true }));
  }

  async *rows({ device, metric, period, from, to }: RollupRowsQuery): AsyncGenerator<RollupRow> {
    const id = (s: number) => ({ d: device, m: metric, p: period, s });
    const within = { _id: { $gte: id(from), $lt: id(to) } };
    // A row is 5 KB at most, so the pages of the driver are small. A cursor that waits longer than the server keeps it
    // fails, so rows are read page by page.
    const PAGE_ROWS = 500;
    for (let next = within; ; ) {
      const page = await this.#db.run(() =>
        this.#db.rollups
          .find(next, { singleBatch: true, batchSize: PAGE_ROWS })
          .sort({ _id: 1 })
          .limit(PAGE_ROWS)
          .toArray(),
      );
      for (const { _id, f } of page) {
        const { s } = _id;
        yield { device, metric, period, start: s, periods: decodeFigures(bytesOf(f), s, PERIOD_US[period]) };
        next = { _id: { $gte: id(s + 1), $lt: id(to) } };
      }
      if (page.length < PAGE_ROWS) return;
    }
  }

  removeRows(
    period: RollupPeriod,
    before: number,
    { devices = '', metric }: SeriesScope,
  ): Promise<number | null> {
    const filter = {
      '_id.p': period,
      '_id.s': { $lt: before },
      ...(metric === undefined ? {} : { '_id.m': metric }),
      // `0` follows `/`.
      ...(devices === ''
        ? {}
        : { $or: [{ '_id.d': devices }, { '_id.d': { $gte: `${devices}/`, $lt: `${devices}0` } }] }),
    };
    return this.#db.run(async () => {
      const found = await this.#db.rollups
        .find(filter, { projection: { _id: 1 }, batchSize: REMOVE_ROWS })
        .limit(REMOVE_ROWS)
        .toArray();
      if (found.length === 0) return null;
      await this.#db.rollups.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } });
      return found.length;
    });
  }

  getState(name: string): Promise<string | null> {
    return this.#db.run(async () => (await this.#db.states.findOne({ _id: name }))?.value ?? null);
  }

  async setState(name: string, value: string): Promise<void> {
    const set = () => this.#db.states.updateOne({ _id: name }, { $set: { value } }, { upsert: true });
    await this.#db.run(set);
  }

  async ensureState(name: string, value: string): Promise<void> {
    await this.#db.run(async () => {
      await this.#db.states.insertOne({ _id: name, value }).catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
      });
    });
  }
}

function toMark({ _id, due, erased }: MarkDocument): Mark {
  return { device: _id.d, metric: _id.m, hour: _id.h, due, erased: erased === 1 };
}

/** The driver converts binary data to buffers (`promoteBuffers`). */
function bytesOf(value: Binary | Buffer): Uint8Array {
  return value instanceof Binary ? value.buffer : value;
}
