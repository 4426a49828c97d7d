import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
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
import type { OperationSet } from './operation-set.ts';
import { QuerySet } from './query-set.ts';
import { RecordSet } from './record-set.ts';
import { Recorder } from './recorder.ts';

/**
 * The driver program of a series: one table of one driver. It is a separate process, so that the processor time of the
 * client is measured apart. It ends when its standard input ends.
 */
class DriverProgram {
  readonly #connections: Connections;
  readonly #set: OperationSet;
  #recorder: Recorder | null = null;
  /** Operations of the last run that were not yet read. */
  #lines: Iterator<string> | null = null;

  constructor(request: OpenRequest) {
    this.#connections = new Connections(request);
    this.#set = setOf(request, this.#connections);
  }

  async handle(request: Exclude<DriverRequest, { readonly command: 'open' }>): Promise<unknown> {
    switch (request.command) {
      case 'load': {
        const seconds = await this.#set.load();
        await this.#leaveStore();
        return { seconds } satisfies DriverResults['load'];
      }
      case 'restored':
        await this.#set.checkRestored();
        return this.#leaveStore();
      case 'disconnect':
        await this.#connections.closeStore();
        return null;
      case 'run':
        return this.#run(request);
      case 'rows':
        return this.#rows();
      case 'verify':
        if (request.replay !== undefined) this.#set.replay(request.replay);
        return this.#set.verify();
      case 'drop':
        await this.#set.drop();
        await this.#connections.closeStore();
        return null;
    }
  }

  /** Where the runs do not use it, an open connection to the store would be a second client. */
  async #leaveStore(): Promise<null> {
    if (!this.#connections.keepsStore) await this.#connections.closeStore();
    return null;
  }

  async #run({
    seed,
    deadlineMs,
    spill,
    noticeAt,
  }: Extract<DriverRequest, { readonly command: 'run' }>): Promise<RunResult> {
    // Opening the store is no part of the run.
    if (this.#connections.keepsStore) await this.#connections.store();
    this.#recorder?.close();
    globalThis.gc?.();
    const recorder = new Recorder(
      spill,
      noticeAt === undefined
        ? {}
        : { notice: { at: noticeAt, give: () => void process.stdout.write(`${NOTICE}\n`) } },
    );
    this.#recorder = recorder;
    this.#lines = recorder.lines();
    const started = new Date().toISOString();
    const before = process.cpuUsage();
    const deadline = performance.now() + deadlineMs;
    const observed = await this.#set.run({ seed, deadline }, recorder);
    const { user, system } = process.cpuUsage(before);
    return {
      started,
      originMs: performance.timeOrigin + recorder.origin,
      ...recorder.totals(),
      startedOperations: observed.started,
      done: observed.done,
      cpuSeconds: (user + system) / 1e6,
      memoryBytes: peakMemory(),
    };
  }

  #rows(): DriverResults['rows'] {
    if (this.#lines === null) throw new TypeError('there is no run whose operations could be read');
    const { done, value } = this.#lines.next();
    if (!done) return { text: value };
    this.#recorder?.close();
    this.#recorder = null;
    return { text: null };
  }
}

function setOf(request: OpenRequest, connections: Connections): OperationSet {
  const { workload } = request.settings;
  switch (workload.set) {
    case 'records':
      return new RecordSet(request, workload.records, connections);
    case 'devices':
      return new DeviceSet(request, workload, connections);
    case 'queries':
      return new QuerySet(request, workload, connections);
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
