import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gatherStatistics } from '@tidegauge/loadtests/loading/gather-statistics';
import { maskUrls } from '@tidegauge/text';
import { Connections, type OpenRequest } from './connections.ts';
import { DeviceSet } from './device-set.ts';
import {
  type DriverAnswer,
  type DriverRequest,
  type DriverResults,
  NOTICE,
  type RunResult,
} from './driver-messages.ts';
import type { OperationSet, TrialOperations } from './operation-set.ts';
import { QuerySet } from './query-set.ts';
import { RecordSet } from './record-set.ts';
import { Recorder } from './recorder.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** Garbage of a turn that would be collected beside the turns of others, bytes. */
const MUCH_GARBAGE = 8 * 2 ** 20;

/**
 * The driver program of one table of one driver, for one series after the other. It is a separate process, so that the
 * processor time of the client is measured apart. It ends when its standard input ends.
 */
class DriverProgram {
  #request: OpenRequest;
  #connections: Connections;
  #set: OperationSet;
  #run: Run | null = null;

  constructor(request: OpenRequest) {
    this.#request = request;
    this.#connections = new Connections(request);
    this.#set = setOf(request, this.#connections);
  }

  async handle(request: Exclude<DriverRequest, { readonly command: 'open' }>): Promise<unknown> {
    switch (request.command) {
      case 'use':
        return this.#use(request.settings);
      case 'load': {
        const seconds = await this.#set.load();
        if (seconds !== null) await this.#gatherStatistics();
        await this.#leaveStore();
        return { seconds } satisfies DriverResults['load'];
      }
      case 'restored':
        await this.#set.checkRestored();
        await this.#gatherStatistics();
        return this.#leaveStore();
      case 'disconnect':
        await this.#connections.closeStore();
        return null;
      case 'begin':
        return this.#begin(request);
      case 'turn':
        return this.#last.turn(request);
      case 'end':
        return this.#last.end();
      case 'rows':
        return this.#last.rows();
      case 'verify':
        if (request.replay !== undefined) this.#set.replay(request.replay);
        return this.#set.verify();
      case 'drop':
        await this.#set.drop();
        await this.#connections.closeStore();
        return null;
    }
  }

  async #use(settings: OpenRequest['settings']): Promise<null> {
    this.#run?.close();
    this.#run = null;
    await this.#connections.close();
    this.#request = { ...this.#request, settings };
    this.#connections = new Connections(this.#request);
    this.#set = setOf(this.#request, this.#connections, this.#set);
    return null;
  }

  async #gatherStatistics(): Promise<void> {
    const { storeUrl } = this.#connections;
    if (storeUrl !== null) await gatherStatistics(storeUrl);
  }

  /** Where the runs do not use it, an open connection to the store would be a second client. */
  async #leaveStore(): Promise<null> {
    if (!this.#connections.keepsStore) await this.#connections.closeStore();
    return null;
  }

  async #begin({
    seed,
    spill,
    noticeAt,
  }: Extract<DriverRequest, { readonly command: 'begin' }>): Promise<null> {
    // Opening the store is no part of the run.
    if (this.#connections.keepsStore) await this.#connections.store();
    this.#run?.close();
    const operations = await this.#set.begin(seed);
    collectGarbage();
    const notice =
      noticeAt === undefined
        ? {}
        : { notice: { at: noticeAt, give: () => void process.stdout.write(`${NOTICE}\n`) } };
    this.#run = new Run(operations, new Recorder(spill, notice));
    return null;
  }

  get #last(): Run {
    if (this.#run === null) throw new TypeError('no run has begun');
    return this.#run;
  }
}

/** A run: its turns, then its operations as text. */
class Run {
  readonly #operations: TrialOperations;
  readonly #recorder: Recorder;
  /** Operations that were not yet read. */
  readonly #lines: Iterator<string>;
  readonly #started = new Date().toISOString();
  #heapBytes = heapBytes();
  #startedOperations = 0;
  #done = 0;
  #cpuSeconds = 0;

  constructor(operations: TrialOperations, recorder: Recorder) {
    this.#operations = operations;
    this.#recorder = recorder;
    this.#lines = recorder.lines();
  }

  async turn({
    operations,
    ms,
  }: Extract<DriverRequest, { readonly command: 'turn' }>): Promise<DriverResults['turn']> {
    const limits = { count: operations ?? Number.POSITIVE_INFINITY, deadline: performance.now() + ms };
    const before = process.cpuUsage();
    const begun = performance.now();
    this.#recorder.beginTurn();
    const { started, done } = await this.#operations.turn(limits, this.#recorder);
    this.#recorder.endTurn();
    const took = performance.now() - begun;
    const { user, system } = process.cpuUsage(before);
    this.#cpuSeconds += (user + system) / 1e6;
    this.#startedOperations += started;
    this.#done += done;
    this.#collect();
    return { started, ms: took };
  }

  /** V8 collects large garbage with further threads, which would take time of the next turn. */
  #collect(): void {
    if (heapBytes() - this.#heapBytes < MUCH_GARBAGE) return;
    collectGarbage();
    this.#heapBytes = heapBytes();
  }

  async end(): Promise<RunResult> {
    await this.#operations.end();
    return {
      started: this.#started,
      originMs: performance.timeOrigin + this.#recorder.origin,
      ...this.#recorder.totals(),
      startedOperations: this.#startedOperations,
      done: this.#done,
      cpuSeconds: this.#cpuSeconds,
      memoryBytes: peakMemory(),
    };
  }

  rows(): DriverResults['rows'] {
    const { done, value } = this.#lines.next();
    if (!done) return { text: value };
    this.#recorder.close();
    return { text: null };
  }

  close(): void {
    this.#recorder.close();
  }
}

/** @param before the operations of the series before on the same data */
function setOf(request: OpenRequest, connections: Connections, before?: OperationSet): OperationSet {
  const { workload } = request.settings;
  switch (workload.set) {
    case 'records':
      return new RecordSet(
        request,
        workload.records,
        connections,
        before instanceof RecordSet ? before.writes : undefined,
      );
    case 'devices':
      return new DeviceSet(request, workload, connections);
    case 'queries':
      return new QuerySet(request, workload, connections);
  }
}

function heapBytes(): number {
  const { used_heap_size: used, external_memory: external } = getHeapStatistics();
  return used + external;
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

// The runner has ended, or does not wait for the answer any more. A request that is running must not continue.
process.stdin.once('end', () => process.exit());

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
