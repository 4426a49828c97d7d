import { forEach } from '@tidegauge/parallel';
import { cachedBytes, MAX_CACHED_BYTES } from '../cached-bytes.ts';
import { pack } from './pack.ts';
import type { Session } from './session.ts';

/**
 * A writer caches an index row that it wrote for this time, then writes it again, because it can have expired.
 */
const TRUST_MS = 600_000;

/** Concurrent requests. */
const WIDTH = 64;
/** The size of a row without its texts, as the server counts it. */
const ROW_BYTES = 60;

interface PartitionName {
  readonly device: string;
  readonly metric: string;
  readonly bucket: number;
}

/**
 * The index of partitions: the days of each series. A row is written before the first reading of its partition, so
 * every reading can be found. A row without readings does no harm.
 */
export class SeriesIndex {
  readonly #session: Session;
  readonly #insert: string;
  readonly #known = new Map<string, { readonly until: number; readonly node: string }>();
  #bytes = 0;

  constructor(session: Session) {
    this.#session = session;
    this.#insert = `insert into "${session.keyspace}".series (device, metric, bucket) values (?, ?, ?)`;
  }

  /** Whether the row certainly exists. */
  has(device: string, metric: string, bucket: number): boolean {
    const known = this.#known.get(key(device, metric, bucket));
    return known !== undefined && known.until > Date.now();
  }

  /** The node of the partition when its row was written. */
  node(device: string, metric: string, bucket: number): string {
    return this.#known.get(key(device, metric, bucket))?.node ?? '';
  }

  /** Writes the rows of partitions. */
  async add(partitions: readonly PartitionName[]): Promise<void> {
    const written = Date.now();
    const packing = {
      node: ({ device }: PartitionName) => this.#session.nodeOf([Buffer.from(device)]),
      bytes: ({ metric }: PartitionName) => ROW_BYTES + Buffer.byteLength(metric),
    };
    await forEach(pack(partitions, packing), WIDTH, async (some) => {
      await this.#session.writeRows(
        this.#insert,
        some.map(({ device, metric, bucket }) => [device, metric, bucket]),
      );
      for (const partition of some) this.#remember(partition, written + TRUST_MS);
    });
  }

  #remember({ device, metric, bucket }: PartitionName, until: number): void {
    if (this.#bytes >= MAX_CACHED_BYTES) this.forget();
    const number = Buffer.alloc(4);
    number.writeInt32BE(bucket);
    const node = this.#session.nodeOf([Buffer.from(device), Buffer.from(metric), number]);
    const name = key(device, metric, bucket);
    if (!this.#known.has(name)) this.#bytes += cachedBytes(name);
    this.#known.set(name, { until, node });
  }

  forget(): void {
    this.#known.clear();
    this.#bytes = 0;
  }

  /** All partitions of a device. */
  async *of(device: string): AsyncGenerator<{ device: string; metric: string; bucket: number }> {
    const query = `select metric, bucket from "${this.#session.keyspace}".series where device = ?`;
    for await (const { metric, bucket } of this.#session.scan(query, [device], PAGE)) {
      yield { device, metric: metric as string, bucket: bucket as number };
    }
  }

  /** Days of each metric of a device, metrics by name, days newest first. Ends after `most` metrics. */
  async ofDevice(device: string, most: number): Promise<Map<string, number[]>> {
    const query = `select metric, bucket from "${this.#session.keyspace}".series where device = ?`;
    const series = new Map<string, number[]>();
    for await (const { metric, bucket } of this.#session.scan(query, [device], PAGE)) {
      const buckets = series.get(metric as string);
      if (buckets !== undefined) buckets.push(bucket as number);
      else if (series.size > most) break;
      else series.set(metric as string, [bucket as number]);
    }
    return series;
  }

  /** Days of one series in the given range, newest first. */
  async ofSeries(device: string, metric: string, first: number, last: number): Promise<number[]> {
    const query = `
      select bucket from "${this.#session.keyspace}".series
      where device = ? and metric = ? and bucket >= ? and bucket <= ?`;
    const buckets: number[] = [];
    const params = [device, metric, first, last];
    for await (const row of this.#session.scan(query, params, PAGE)) buckets.push(row.bucket as number);
    return buckets;
  }

  /** The newest day of each metric of a device, for at most `limit` metrics. */
  async newest(device: string, limit = Number.MAX_SAFE_INTEGER): Promise<[metric: string, bucket: number][]> {
    const query = `
      select metric, bucket from "${this.#session.keyspace}".series where device = ? group by device, metric`;
    const newest: [string, number][] = [];
    for await (const row of this.#session.scan(query, [device], PAGE)) {
      newest.push([row.metric as string, row.bucket as number]);
      if (newest.length === limit) break;
    }
    return newest;
  }

  /** All partitions, in the order of tokens. */
  async *all(): AsyncGenerator<{ device: string; metric: string; bucket: number }> {
    const query = `select device, metric, bucket from "${this.#session.keyspace}".series`;
    for await (const { device, metric, bucket } of this.#session.scan(query, [], PAGE)) {
      yield { device: device as string, metric: metric as string, bucket: bucket as number };
    }
  }

  /** All devices, in the order of tokens, after that of a name. */
  async *devices(after?: string): AsyncGenerator<string> {
    const query = `select distinct device from "${this.#session.keyspace}".series`;
    const rows =
      after === undefined
        ? this.#session.scan(query, [], PAGE)
        : this.#session.scan(`${query} where token(device) > token(?)`, [after], PAGE);
    for await (const { device } of rows) yield device as string;
  }

  async remove(device: string, metric: string, bucket: number, timestamp: Timestamp): Promise<void> {
    const query = `delete from "${this.#session.keyspace}".series where device = ? and metric = ? and bucket = ?`;
    await this.#session.write(query, [device, metric, bucket], timestamp);
  }
}

const PAGE = 1000;

type Timestamp = ReturnType<Session['timestamp']>;

function key(device: string, metric: string, bucket: number): string {
  return `${bucket} ${metric} ${device}`;
}
