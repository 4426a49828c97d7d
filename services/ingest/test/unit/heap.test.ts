import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';

const HEAP = fileURLToPath(new URL('../../src/heap.ts', import.meta.url));
const MIB = 1024 * 1024;

/** Holds each of a million objects for a time, as messages that wait for a commit. Prints the largest heap, bytes. */
const CHURN = `
  import { getHeapStatistics } from 'node:v8';
  const { keepHeapSmall } = await import(${JSON.stringify(HEAP)});
  if (process.argv[1] === 'bounded') keepHeapSmall();
  const ring = new Array(20_000);
  let peak = 0;
  for (let n = 0; n < 1_000_000; n++) {
    ring[n % ring.length] = { n, values: [n, n + 1, n + 2], text: 'message ' + n };
    if (n % 10_000 === 0) peak = Math.max(peak, getHeapStatistics().total_heap_size);
  }
  console.log(peak);
`;

async function largestHeap(way: 'bounded' | 'free'): Promise<number> {
  const flags = ['--max-semi-space-size=2', '--input-type=module', '--eval', CHURN, way];
  const { stdout } = await runProgram(process.execPath, flags, { what: 'the churn', timeoutMs: 60_000 });
  return Number(stdout) / MIB;
}

test('the heap stays small while objects live for a time', async (context) => {
  const [bounded, free] = [await largestHeap('bounded'), await largestHeap('free')];
  context.diagnostic(`${bounded.toFixed()} MiB with the bound, ${free.toFixed()} MiB without`);
  assert.ok(bounded < 48, `${bounded} MiB with the bound`);
  assert.ok(bounded < 0.8 * free, `${bounded} MiB with the bound, ${free} MiB without`);
});
