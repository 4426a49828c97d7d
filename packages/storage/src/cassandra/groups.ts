import { forEach } from '@tidegauge/parallel';
import { addValue, type Fold, figuresOf, foldOf } from '../aggregate.ts';
import type { AddPart, Scope } from '../day-totals.ts';
import { bucketOf, toNumber, toReadingValue } from './mapping.ts';
import type { SeriesIndex } from './series.ts';
import type { Row, Session } from './session.ts';

/** Concurrent reads of partitions. */
const WIDTH = 64;
/** The parts of the ring of tokens, and how many of them are read at the same time. */
const PARTS = 64;
const PARTS_AT_ONCE = 4;
/**
 * The readings that the server adds up for one page. It answers within half a second, so that neither a timeout nor a
 * second request on another node is necessary.
 */
const PAGE_READINGS = 20_000;
/** Partitions of the first page, and the most partitions of a page. */
const PAGE_PARTITIONS = { first: 50, most: 5000 };
const PAGE_ROWS = 1000;

const TOTALS =
  'count(number) as count, sum(number) as sum, min(number) as min, max(number) as max, count(string) as texts';

interface Partition {
  readonly device: string;
  readonly metric: string;
  readonly bucket: number;
}

/**
 * Adds up readings of many devices. The server adds up the numbers of each partition. A number that was corrected to a
 * text stays in its cell, so partitions with both are read row by row.
 */
export class CassandraGroups {
  readonly #session: Session;
  readonly #index: SeriesIndex;
  readonly #table: string;

  constructor(session: Session, index: SeriesIndex) {
    this.#session = session;
    this.#index = index;
    this.#table = `"${session.keyspace}".readings`;
  }

  /** Passes the totals of the partitions of all devices to `add`. */
  ofAll(scope: Scope, add: AddPart): Promise<void> {
    const isUnbounded = scope.from === 0 && scope.to >= Number.MAX_SAFE_INTEGER;
    return isUnbounded
      ? this.#ofRing(scope, add)
      : this.#ofPartitions(within(scope, this.#index.all()), scope, add);
  }

  /** Passes the totals of the partitions of some devices to `add`. */
  ofDevices(devices: AsyncIterable<string>, scope: Scope, add: AddPart): Promise<void> {
    return this.#ofPartitions(within(scope, this.#partitionsOf(devices)), scope, add);
  }

  async *#partitionsOf(devices: AsyncIterable<string>): AsyncGenerator<Partition> {
    for await (const device of devices) yield* this.#index.of(device);
  }

  /** Reads all partitions in the order of tokens, several parts of the ring at the same time. */
  async #ofRing(scope: Scope, add: AddPart): Promise<void> {
    const token = 'token(device, metric, bucket)';
    const query = `select device, metric, bucket, ${TOTALS} from ${this.#table}
      where ${token} > ? and ${token} <= ? group by device, metric, bucket`;
    let partitions = 0;
    let readings = 0;
    const fetchSize = () => {
      if (readings === 0) return PAGE_PARTITIONS.first;
      const fit = Math.floor((PAGE_READINGS * partitions) / readings);
      return Math.max(1, Math.min(fit, PAGE_PARTITIONS.most));
    };
    await forEach(ringParts(), PARTS_AT_ONCE, async (bounds) => {
      for await (const row of this.#session.scan(query, bounds, fetchSize)) {
        partitions += 1;
        readings += toNumber(row.count) + toNumber(row.texts);
        const partition = row as unknown as Partition;
        if (scope.metric === undefined || partition.metric === scope.metric) {
          await this.#add(partition, row, scope, add);
        }
      }
    });
  }

  async #ofPartitions(partitions: AsyncIterable<Partition>, scope: Scope, add: AddPart): Promise<void> {
    const query = `select ${TOTALS} from ${this.#table} ${WHERE}`;
    await forEach(partitions, WIDTH, async (partition) => {
      const [row] = await this.#session.read(query, params(partition, scope));
      if (row !== undefined) await this.#add(partition, row, scope, add);
    });
  }

  async #add(partition: Partition, row: Row, scope: Scope, add: AddPart): Promise<void> {
    const count = toNumber(row.count);
    if (count === 0) return;
    const { device, metric, bucket } = partition;
    if (toNumber(row.texts) > 0) {
      const fold = await this.#rowByRow(partition, scope);
      if (fold !== null) add(device, metric, bucket, figuresOf(fold));
      return;
    }
    const [sum, min, max] = [row.sum as number, row.min as number, row.max as number];
    add(device, metric, bucket, { count, sum, min, max });
  }

  async #rowByRow(partition: Partition, scope: Scope): Promise<Fold | null> {
    const query = `select number, string, shape from ${this.#table} ${WHERE}`;
    let fold: Fold | null = null;
    for await (const row of this.#session.scan(query, params(partition, scope), PAGE_ROWS)) {
      const value = toReadingValue(row);
      if (typeof value !== 'number') continue;
      if (fold === null) fold = foldOf(value);
      else addValue(fold, value);
    }
    return fold;
  }
}

const WHERE = 'where device = ? and metric = ? and bucket = ? and time >= ? and time < ?';

function params({ device, metric, bucket }: Partition, { from, to }: Scope): unknown[] {
  return [device, metric, bucket, from, to];
}

async function* within(
  { metric, from, to }: Scope,
  partitions: AsyncIterable<Partition>,
): AsyncGenerator<Partition> {
  const [first, last] = [bucketOf(from), bucketOf(to - 1)];
  for await (const partition of partitions) {
    const { bucket } = partition;
    if (bucket < first || bucket > last) continue;
    if (metric === undefined || partition.metric === metric) yield partition;
  }
}

/** Bounds of equal parts of the ring of Murmur3 tokens: after the first, up to the second. */
function* ringParts(): Generator<readonly [string, string]> {
  const start = -(2n ** 63n);
  const size = 2n ** 64n / BigInt(PARTS);
  for (let part = 0n; part < BigInt(PARTS); part += 1n) {
    const end = part === BigInt(PARTS) - 1n ? 2n ** 63n - 1n : start + (part + 1n) * size;
    yield [String(start + part * size), String(end)];
  }
}
