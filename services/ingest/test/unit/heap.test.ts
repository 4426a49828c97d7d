import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';

const HEAP = fileURLToPath(new URL('../../src/heap.ts', import.meta.url));
const MIB = 1024 * 1024;
const LIMIT = 120 * MIB;
/** Some 45 MiB. */
const HELD = 330_000;

/**
 * Holds each of a million objects for a time, as messages that wait for a commit, and `held` others until the end: then it
 * also runs the event loop. Prints the largest heap, bytes.
 */
const churn = (held: number) => `
  import { getHeapStatistics } from 'node:v8';
  const { keepHeapSmall } = await import(${JSON.stringify(HEAP)});
  const held = Array.from({ length: ${held} }, (_, n) => ({ n, values: [n, n + 1] }));
  if (process.argv[1] === 'bounded') keepHeapSmall();
  if (process.argv[1] === 'limited') keepHeapSmall(${LIMIT});
  const ring = new Array(20_000);
  let peak = 0;
  for (let n = 0; n < 1_000_000; n++) {
    ring[n % ring.length] = { n, values: [n, n + 1, n + 2], text: 'message ' + n };
    if (n % 10_000 === 0) peak = Math.max(peak, getHeapStatistics().total_heap_size);
    ${held > 0 ? 'if (n % 5_000 === 0) await new Promise(setImmediate);' : ''}
  }
  console.log(peak, held.length);
`;

async function largestHeap(held: number, way: string): Promise<number> {
  const flags = ['--max-semi-space-size=2', '--input-type=module', '--eval', churn(held), way];
  const { stdout } = await runProgram(process.execPath, flags, { what: 'the churn', timeoutMs: 60_000 });
  return Number.parseInt(stdout, 10) / MIB;
}

test('the heap stays small while objects live for a time', async (context) => {
  const [bounded, free] = [await largestHeap(0, 'bounded'), await largestHeap(0, 'free')];
  context.diagnostic(`${bounded.toFixed()} MiB with the bound, ${free.toFixed()} MiB without`);
  assert.ok(bounded < 48, `${bounded} MiB with the bound`);
  assert.ok(bounded < 0.8 * free, `${bounded} MiB with the bound, ${free} MiB without`);
});

test('the heap stays near its share of the limit of memory when most of that is in use', async (context) => {
  // When V8 collects garbage depends on the time too.
  const least = async (way: string) =>
    Math.min(...(await Promise.all([1, 2, 3].map(() => largestHeap(HELD, way)))));
  const [limited, bounded] = [await least('limited'), await least('bounded')];
  context.diagnostic(`${limited.toFixed()} MiB with a limit, ${bounded.toFixed()} MiB without`);
  assert.ok(limited < 0.9 * bounded, `${limited} MiB with a limit, ${bounded} MiB without`);
});
