import { shareOf } from '@tidegauge/loadtests/drivers/closed-model';
import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { RecordDriver } from '@tidegauge/loadtests/drivers/record-driver';
import { appTarget, type RecordTarget, rawTarget } from '@tidegauge/loadtests/drivers/record-target';
import { BATCHES_AT_ONCE } from '@tidegauge/loadtests/loading/load';
import { dropTable, loadRaw, loadThroughApi } from '@tidegauge/loadtests/loading/load-records';
import { initialRecords, operations, type RecordWorkload } from '@tidegauge/workload';
import type { Connections, OpenRequest } from './connections.ts';
import type { OperationSet, TrialOperations } from './operation-set.ts';
import { CHECKS_AT_ONCE, SampledWrites, type Verification } from './sampled-writes.ts';

/** Records that are read after a restore. */
const RESTORE_SAMPLE = 20;
/** Written records that are watched where a node fails, in addition to the sample. */
const MOST_TOUCHED = 5000;

/** The operations of YCSB on a table of records. */
export class RecordSet implements OperationSet {
  readonly #request: OpenRequest;
  readonly #workload: RecordWorkload;
  readonly #connections: Connections;
  readonly writes: SampledWrites;

  /** @param writes what an earlier series has written to the table. Default: nothing */
  constructor(
    request: OpenRequest,
    workload: RecordWorkload,
    connections: Connections,
    writes = new SampledWrites(workload, request.seed, request.settings.killsNode ? MOST_TOUCHED : 0),
  ) {
    this.#request = request;
    this.#workload = workload;
    this.#connections = connections;
    this.writes = writes;
  }

  async load(): Promise<number> {
    const seconds =
      this.#connections.storeUrl !== null ? await this.#loadStore() : await this.#loadThroughApi();
    this.writes.restart();
    return seconds;
  }

  async checkRestored(): Promise<void> {
    const { table, seed } = this.#request;
    const { recordCount, insertStart, insertCount } = this.#workload;
    const recordOf = initialRecords(this.#workload, seed);
    const { records } = await this.#connections.store();
    for (let index = 0; index < RESTORE_SAMPLE; index += 1) {
      const number = insertStart + Math.round((index * (insertCount - 1)) / (RESTORE_SAMPLE - 1));
      const { key, values } = recordOf(number);
      const found = await records.read(table, key, null);
      const isRight =
        found !== null && Object.entries(values).every(([field, value]) => found[field] === value);
      if (!isRight) throw new Error(`the restored table ${table} does not have the record ${key} as loaded`);
    }
    // The number of the first insert of a run.
    const { key: inserted } = recordOf(Math.max(recordCount, insertStart + insertCount));
    if ((await records.read(table, inserted, null)) !== null) {
      throw new Error(
        `the restored table ${table} has the record ${inserted}, which was inserted after the load`,
      );
    }
    this.writes.restart();
  }

  async begin(seed: number): Promise<TrialOperations> {
    const { threads, rate } = this.#request.settings;
    const driver = new RecordDriver(await this.#target(), this.#workload, { seed, threads, rate });
    const writing = this.writes.writing.bind(this.writes);
    return {
      turn: ({ count, deadline }, observer) =>
        driver.observe(
          count,
          { ended: observer.ended.bind(observer), verified: observer.verified.bind(observer), writing },
          { deadline },
        ),
      async end() {},
    };
  }

  replay(seed: number): void {
    const { threads, length } = this.#request.settings;
    // Only runs of k6 are replayed, which have a count.
    const count = length.operations ?? 0;
    for (let thread = 0; thread < threads; thread += 1) {
      const stream = operations(this.#workload, { seed, thread, threads });
      const share = shareOf(count, threads, thread);
      for (let number = 0; number < share; number += 1) {
        const operation = stream.next();
        const { type, key } = operation;
        if (type === 'insert') this.writes.writing('insert', key, operation.values)?.('OK');
        else if (type === 'update' || type === 'readModifyWrite')
          this.writes.writing('update', key, operation.values);
      }
    }
  }

  async verify(): Promise<Verification> {
    const { api } = this.#connections;
    if (api === null) return this.#verifyFrom(await this.#target());
    // The client of the runs has a connection for each thread only.
    const client = new HttpClient(CHECKS_AT_ONCE, api.token);
    try {
      return await this.#verifyFrom(appTarget(api.url, client, this.#request.table));
    } finally {
      client.close();
    }
  }

  async #verifyFrom(target: RecordTarget): Promise<Verification> {
    const all = await this.#connections.readingAll();
    try {
      const fromAll = all === null ? null : rawTarget(all, this.#request.table);
      return await this.writes.verify(
        (key) => target.read(key, null),
        fromAll === null ? null : (key) => fromAll.read(key, null),
      );
    } finally {
      await all?.close();
    }
  }

  async drop(): Promise<void> {
    const { table } = this.#request;
    if (this.#connections.storeUrl !== null) await (await this.#connections.store()).records.dropTable(table);
    else await dropTable(this.#connections.api!.url, this.#connections.api!.client, table);
  }

  async #loadStore(): Promise<number> {
    const { table, seed } = this.#request;
    const store = await this.#connections.store();
    await store.records.dropTable(table);
    const begun = performance.now();
    await loadRaw(store, table, this.#workload, seed);
    return (performance.now() - begun) / 1000;
  }

  async #loadThroughApi(): Promise<number> {
    const { table, seed } = this.#request;
    const { url, token } = this.#connections.api!;
    // The client of the runs has a connection for each thread only.
    const client = new HttpClient(BATCHES_AT_ONCE, token);
    try {
      await dropTable(url, client, table);
      const begun = performance.now();
      await loadThroughApi(url, client, table, this.#workload, seed);
      return (performance.now() - begun) / 1000;
    } finally {
      client.close();
    }
  }

  async #target(): Promise<RecordTarget> {
    const { table } = this.#request;
    const { api } = this.#connections;
    if (api !== null) return appTarget(api.url, api.client, table);
    return rawTarget(await this.#connections.store(), table);
  }
}
