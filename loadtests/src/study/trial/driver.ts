import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { openStore, type Store } from '@tidegauge/storage';
import { maskUrls } from '@tidegauge/text';
import { initialRecords, operations, type RecordWorkload } from '@tidegauge/workload';
import { HttpClient } from '../../drivers/http-client.ts';
import { RecordDriver } from '../../drivers/record-driver.ts';
import { appTarget, type RecordTarget, rawTarget } from '../../drivers/record-target.ts';
import { BATCHES_AT_ONCE } from '../../loading/load.ts';
import { dropTable, loadRaw, loadThroughApi } from '../../loading/load-records.ts';
import type { DriverAnswer, DriverRequest, DriverResults, RunResult } from './driver-messages.ts';
import { Recorder } from './recorder.ts';
import { writeRunFile } from './run-file.ts';
import { SampledWrites } from './sampled-writes.ts';

/** Records that are read after a restore. */
const RESTORE_SAMPLE = 20;

/**
 * The driver program of a series: one table of one driver. It is a separate process, so that the processor time of the
 * client is measured apart. It ends when its standard input ends.
 */
class DriverProgram {
  readonly #request: Extract<DriverRequest, { readonly command: 'open' }>;
  readonly #workload: RecordWorkload;
  readonly #client: HttpClient | null;
  readonly #writes: SampledWrites;
  #store: Store | null = null;
  #recorder: Recorder | null = null;

  constructor(request: DriverProgram['openRequest']) {
    this.#request = request;
    this.#workload = request.settings.workload;
    const { api, settings, seed } = request;
    this.#client = api === null ? null : new HttpClient(settings.threads, api.token);
    this.#writes = new SampledWrites(this.#workload, seed);
  }

  get openRequest(): Extract<DriverRequest, { readonly command: 'open' }> {
    return this.#request;
  }

  async handle(request: Exclude<DriverRequest, { readonly command: 'open' }>): Promise<unknown> {
    switch (request.command) {
      case 'load':
        return this.#load();
      case 'restored':
        return this.#restored();
      case 'disconnect':
        return this.#disconnect();
      case 'run':
        return this.#run(request);
      case 'write':
        return this.#write(request.path);
      case 'verify': {
        if (request.replay !== undefined) this.#replay(request.replay);
        const target = await this.#target();
        return this.#writes.verify((key) => target.read(key, null));
      }
      case 'drop':
        return this.#drop();
    }
  }

  async #load(): Promise<DriverResults['load']> {
    const { store, api } = this.#request;
    const seconds = store === null ? await this.#loadThroughApi() : await this.#loadStore();
    this.#writes.restart();
    // Through an API, an open connection to the store would be a second client during the runs.
    if (api !== null) await this.#disconnect();
    return { seconds };
  }

  async #loadStore(): Promise<number> {
    const { table, seed } = this.#request;
    const store = await this.#connected();
    await store.records.dropTable(table);
    const begun = performance.now();
    await loadRaw(store, table, this.#workload, seed);
    return (performance.now() - begun) / 1000;
  }

  async #loadThroughApi(): Promise<number> {
    const { table, seed, api } = this.#request;
    const { url, token } = api!;
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

  async #drop(): Promise<null> {
    const { store, api, table } = this.#request;
    if (store === null) await dropTable(api!.url, this.#client!, table);
    else await (await this.#connected()).records.dropTable(table);
    return this.#disconnect();
  }

  async #restored(): Promise<null> {
    const { table, seed } = this.#request;
    const { insertStart, insertCount } = this.#workload;
    const recordOf = initialRecords(this.#workload, seed);
    const { records } = await this.#connected();
    for (let index = 0; index < RESTORE_SAMPLE; index += 1) {
      const number = insertStart + Math.round((index * (insertCount - 1)) / (RESTORE_SAMPLE - 1));
      const { key, values } = recordOf(number);
      const found = await records.read(table, key, null);
      const isRight =
        found !== null && Object.entries(values).every(([field, value]) => found[field] === value);
      if (!isRight) throw new Error(`the restored table ${table} does not have the record ${key} as loaded`);
    }
    this.#writes.restart();
    if (this.#request.api !== null) await this.#disconnect();
    return null;
  }

  async #run({
    seed,
    deadlineMs,
    spill,
  }: Extract<DriverRequest, { readonly command: 'run' }>): Promise<RunResult> {
    const { threads, operations: count, rate } = this.#request.settings;
    const driver = new RecordDriver(await this.#target(), this.#workload, { seed, threads, rate });
    this.#recorder?.close();
    globalThis.gc?.();
    const recorder = new Recorder(spill);
    this.#recorder = recorder;
    const observer = {
      ended: recorder.ended.bind(recorder),
      verified: recorder.verified.bind(recorder),
      writing: this.#writes.writing.bind(this.#writes),
    };
    const started = new Date().toISOString();
    const before = process.cpuUsage();
    const deadline = performance.now() + deadlineMs;
    const observed = await driver.observe(count, observer, { deadline });
    const { user, system } = process.cpuUsage(before);
    return {
      started,
      ...recorder.totals(),
      startedOperations: observed.started,
      done: observed.done,
      cpuSeconds: (user + system) / 1e6,
      memoryBytes: peakMemory(),
    };
  }

  /** Makes all writes of a run possible, in any order. */
  #replay(seed: number): void {
    const { threads, operations: count } = this.#request.settings;
    for (let thread = 0; thread < threads; thread += 1) {
      const stream = operations(this.#workload, { seed, thread, threads });
      const share = Math.floor(count / threads) + (thread < count % threads ? 1 : 0);
      for (let number = 0; number < share; number += 1) {
        const operation = stream.next();
        const { type, key } = operation;
        if (type === 'insert') this.#writes.writing('insert', key, operation.values)?.('OK');
        else if (type === 'update' || type === 'readModifyWrite')
          this.#writes.writing('update', key, operation.values);
      }
    }
  }

  async #write(path: string): Promise<DriverResults['write']> {
    const recorder = this.#recorder;
    if (recorder === null) throw new Error('there is no run whose operations could be written');
    try {
      return await writeRunFile(path, recorder.lines());
    } finally {
      recorder.close();
      this.#recorder = null;
    }
  }

  async #target(): Promise<RecordTarget> {
    const { api, table } = this.#request;
    if (api !== null) return appTarget(api.url, this.#client!, table);
    return rawTarget(await this.#connected(), table);
  }

  async #connected(): Promise<Store> {
    const { store } = this.#request;
    if (store === null) throw new TypeError('the driver has no STORE URL');
    this.#store ??= await openStore(store);
    return this.#store;
  }

  async #disconnect(): Promise<null> {
    await this.#store?.close();
    this.#store = null;
    return null;
  }
}

/** The largest resident memory of this process so far, in bytes. */
function peakMemory(): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}

function answer(message: DriverAnswer): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

let program: DriverProgram | null = null;
for await (const line of createInterface({ input: process.stdin })) {
  try {
    const request = JSON.parse(line) as DriverRequest;
    let result: unknown = null;
    if (request.command === 'open') program = new DriverProgram(request);
    else result = await program!.handle(request);
    answer({ ok: true, result });
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    answer({ ok: false, error: maskUrls(message), code: code ?? null });
  }
}
// Connections of a store or of the HTTP client would keep the process alive.
process.exit();
