// Runs one target in a thread, so that an input that hangs or takes too much memory ends the thread only.
import { parentPort, workerData } from 'node:worker_threads';
import { fuzzLoop } from './fuzz-loop.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import type { WorkerInput, WorkerOutput } from './run-target.ts';

const { module, target: name, limits, progress, bytes } = workerData as WorkerInput;
const { fuzzTargets } = (await import(module)) as { readonly fuzzTargets: readonly FuzzTarget[] };
const target = fuzzTargets.find((each) => each.name === name)!;

function report(output: WorkerOutput): void {
  parentPort!.postMessage(output);
}

try {
  const counts = await fuzzLoop(target, limits, (input, number) => {
    bytes.set(input);
    progress[1] = input.length;
    Atomics.store(progress, 0, number + 1);
  });
  report({ counts });
} catch (error) {
  report({ problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
