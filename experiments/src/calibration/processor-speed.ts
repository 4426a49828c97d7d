import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

export interface ProcessorTimes {
  readonly rounds: number;
  readonly secondsPerRound: number;
  /** Before the first round, so that code is compiled, and the clock of the processor is that of long work. */
  readonly warmUpSeconds: number;
}

/** Loops between two looks at the clock. */
const BATCH = 50;
const FIELDS = 10;
const FIELD = 'x'.repeat(100);
const RECORD = JSON.stringify({
  fields: Object.fromEntries(Array.from({ length: FIELDS }, (_, n) => [`field${n}`, FIELD])),
});

/**
 * Loops of fixed work per second and processor, for each round, while all processors are busy. A loop is work like that
 * of the application and of a store: it parses a record of 1 kB, writes it as JSON, and hashes the text with SHA-256.
 */
export async function processorSpeeds(
  times: ProcessorTimes,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const processors = availableParallelism();
  const workers = Array.from(
    { length: processors },
    () => new Worker(new URL('./processor-worker.ts', import.meta.url), { workerData: times }),
  );
  const stop = (): void => {
    for (const worker of workers) void worker.terminate();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const speeds = await Promise.all(workers.map(speedsOf));
    return Array.from(
      { length: times.rounds },
      (_, round) => speeds.reduce((sum, each) => sum + each[round]!, 0) / processors,
    );
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/** Does the rounds in this thread. Returns the loops per second of each. */
export function loopRounds({ rounds, secondsPerRound, warmUpSeconds }: ProcessorTimes): readonly number[] {
  loopsPerSecond(warmUpSeconds);
  return Array.from({ length: rounds }, () => loopsPerSecond(secondsPerRound));
}

function loopsPerSecond(seconds: number): number {
  const begun = performance.now();
  let loops = 0;
  let elapsed = 0;
  do {
    for (let loop = 0; loop < BATCH; loop += 1) {
      const text = JSON.stringify(JSON.parse(RECORD));
      createHash('sha256').update(text).digest();
    }
    loops += BATCH;
    elapsed = (performance.now() - begun) / 1000;
  } while (elapsed < seconds);
  return loops / elapsed;
}

function speedsOf(worker: Worker): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('a thread of the calibration ended early')));
  });
}
