import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { FuzzTarget } from './fuzz-target.ts';
import { mutate } from './mutate.ts';
import { Random } from './random.ts';

/** When to stop: after this many inputs, or after this many seconds. */
export interface FuzzLimits {
  readonly seed: number;
  readonly inputs: number;
  readonly seconds: number;
}

export interface FuzzCounts {
  readonly inputs: number;
  readonly seconds: number;
  /** Different kinds of results. */
  readonly kinds: number;
  /** The processor time of the slowest input, milliseconds. */
  readonly slowestMs: number;
  readonly slowestInput: Uint8Array;
  /** Growth of the memory in use between the first tenth and the end, bytes. */
  readonly grownBytes: number;
}

/** Inputs in one turn of the event loop. */
const TURN = 200;

/** Bounds of the corpus, which grows with inputs of new kinds. */
const MAX_CORPUS = 2000;
const MAX_CORPUS_BYTES = 8 << 20;
const MAX_KINDS = 100_000;

/**
 * Runs a target with changed inputs. The inputs depend on the seed only, so that a run can be repeated. It stops at
 * the first exception, which it does not catch.
 *
 * @param onInput receives each input before it runs
 */
export async function fuzzLoop(
  target: FuzzTarget,
  { seed, inputs, seconds }: FuzzLimits,
  onInput: (input: Buffer, number: number) => void,
): Promise<FuzzCounts> {
  const random = new Random(seed);
  const corpus = [...target.corpus];
  let corpusBytes = 0;
  const kinds = new Set<number>();
  const learn = (input: Buffer, kind: number): void => {
    if (kinds.size >= MAX_KINDS || kinds.has(kind)) return;
    kinds.add(kind);
    if (corpus.length >= MAX_CORPUS || corpusBytes + input.length > MAX_CORPUS_BYTES) return;
    // Not Buffer.from: a small buffer would keep its whole pool.
    corpus.push(new Uint8Array(input));
    corpusBytes += input.length;
  };
  const began = performance.now();
  const usedAtFirst = usedBytes();
  let usedLater: number | null = null;
  let slowestMs = 0;
  let slowestInput: Uint8Array = Buffer.alloc(0);
  let number = 0;
  let now = began;
  for (; number < inputs && now - began < seconds * 1000; number++) {
    const input =
      number < target.corpus.length ? Buffer.from(corpus[number]!) : mutate(random, corpus, target.tokens);
    onInput(input, number);
    // Node frees some things, such as those of zlib, in a later turn of the event loop.
    if (number % TURN === 0) await turn();
    const usedBefore = process.threadCpuUsage();
    const kind = hash(target.run(input));
    const used = process.threadCpuUsage(usedBefore);
    now = performance.now();
    if (used.user + used.system > slowestMs * 1000) {
      slowestMs = (used.user + used.system) / 1000;
      slowestInput = input;
    }
    learn(input, kind);
    // Code is compiled and caches are filled in the first tenth.
    const isWarm = number >= inputs / 10 || now - began > seconds * 100;
    if (isWarm) usedLater ??= usedBytes() - corpusBytes;
  }
  const grownBytes = usedBytes() - corpusBytes - (usedLater ?? usedAtFirst);
  return {
    inputs: number,
    seconds: (now - began) / 1000,
    kinds: kinds.size,
    slowestMs,
    slowestInput,
    grownBytes,
  };
}

/** FNV-1a of the UTF-16 code units, 32 bits. Kinds are kept as numbers, because they are many. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

let collect: (() => void) | undefined;

/** Bytes of the heap and of buffers that are in use. */
function usedBytes(): number {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
