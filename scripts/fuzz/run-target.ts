import { Worker } from 'node:worker_threads';
import type { FuzzCounts, FuzzLimits } from './fuzz-loop.ts';
import { MAX_INPUT_BYTES } from './fuzz-target.ts';

/** What a thread receives. */
export interface WorkerInput {
  /** The URL of a module that exports `fuzzTargets`. */
  readonly module: string;
  readonly target: string;
  readonly limits: FuzzLimits;
  /** Shared with the thread: the number of the current input, from 1, and its length. */
  readonly progress: Int32Array<SharedArrayBuffer>;
  /** Shared with the thread: the current input. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
}

export type WorkerOutput = { readonly counts: FuzzCounts } | { readonly problem: string };

export interface FuzzFailure {
  readonly problem: string;
  /** Number of the input, from 1. */
  readonly number: number;
  readonly input: Buffer;
}

export interface FuzzOptions extends FuzzLimits {
  readonly module: string;
  readonly target: string;
  /**
   * The longest that one input may take, milliseconds of the processor time of this process. A busy machine can stop a
   * thread for seconds; that time does not count. An input that waits without processor time may take
   * `WAITING_FACTOR` times as long.
   */
  readonly limitMs: number;
}

const WAITING_FACTOR = 60;

/**
 * Memory of the thread: an input of 64 KiB must need much less. V8 ends the whole process when memory runs out in an
 * allocation that cannot fail; the seed then repeats the run.
 */
const MAX_HEAP_MB = 256;
const MAX_GROWTH_BYTES = 64 << 20;

/** Fuzzes one target in a thread. Returns the counts, or the input that failed. */
export async function runTarget(options: FuzzOptions): Promise<FuzzCounts | FuzzFailure> {
  const { module, target, limitMs, seed, inputs, seconds } = options;
  const progress = new Int32Array(new SharedArrayBuffer(8));
  const bytes = new Uint8Array(new SharedArrayBuffer(MAX_INPUT_BYTES));
  const workerData: WorkerInput = { module, target, limits: { seed, inputs, seconds }, progress, bytes };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const failure = (problem: string): FuzzFailure => ({
    problem,
    number: Atomics.load(progress, 0),
    input: Buffer.from(bytes.slice(0, progress[1])),
  });

  let seen = 0;
  let seenAt = performance.now();
  let usedBefore = process.cpuUsage();
  const { promise, resolve } = Promise.withResolvers<FuzzCounts | FuzzFailure>();
  const watch = setInterval(() => {
    const number = Atomics.load(progress, 0);
    if (number !== seen || number === 0) {
      seen = number;
      seenAt = performance.now();
      usedBefore = process.cpuUsage();
      return;
    }
    const { user, system } = process.cpuUsage(usedBefore);
    if ((user + system) / 1000 > limitMs || performance.now() - seenAt > WAITING_FACTOR * limitMs)
      resolve(failure(`the input takes more than ${limitMs} ms`));
  }, 100);
  worker.on('message', (output: WorkerOutput) => {
    if ('problem' in output) resolve(failure(output.problem));
    else if (output.counts.grownBytes <= MAX_GROWTH_BYTES) resolve(output.counts);
    else resolve(failure(`the memory in use grew by ${output.counts.grownBytes} bytes over all inputs`));
  });
  worker.on('error', (error) => resolve(failure(error instanceof Error ? error.message : String(error))));
  worker.on('exit', (code) => resolve(failure(`the thread ended with code ${code}`)));
  try {
    return await promise;
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}
