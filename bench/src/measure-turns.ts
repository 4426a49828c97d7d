import {
  type MeasuredOperation,
  problemsOf,
  type RecordBlock,
  type RecordDriver,
} from '@tidegauge/loadtests/drivers/record-driver';
import { seeded } from '@tidegauge/workload';
import { type AddedLatency, addedLatency, isPrecise, type Latencies } from './added-latency.ts';

const SIDES = ['raw', 'app'] as const;
const REVERSED = SIDES.toReversed();

export type Side = (typeof SIDES)[number];

/** Something that both sides have: directly on the store, and through the application. */
export type Both<T> = Readonly<Record<Side, T>>;

export interface TurnSizes {
  readonly warmUpMs: number;
  /** Length of a block of one thread, and of the longer one of the two slices of more threads. */
  readonly blockMs: number;
  readonly fewestBlocks: number;
  /** The measurement also ends after this number of blocks. */
  readonly mostBlocks: number;
}

export interface TurnOptions extends TurnSizes {
  readonly threads: number;
  readonly seed: number;
  /** No block starts later, a time of `performance.now()`, except the fewest. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

export interface Turns {
  readonly blocks: number;
  readonly added: ReadonlyMap<MeasuredOperation, AddedLatency>;
  /** Operations per second of each side. */
  readonly rate: Both<number>;
  /** Reads whose values were checked. */
  readonly verified: number;
}

type Block = Both<Map<MeasuredOperation, number[]>>;

/** Operations of a thread in a turn of the warm-up. */
const WARM_UP_OPERATIONS = 8;
/** The interval is looked at when there are so many times as many blocks as at the last look. */
const LOOK_AGAIN = 1.2;

/**
 * Measures what the application adds, in turns: with one thread each operation runs on both sides, in random order;
 * with more, a slice of operations does, and the next one starts when all threads have ended. What changes the speed of
 * the machine or of the store changes both sides. It ends when the medians of all operations are precise, or at the
 * deadline.
 *
 * @throws {Error} an operation failed, or read other values than were written
 */
export async function measureTurns(drivers: Both<RecordDriver>, options: TurnOptions): Promise<Turns> {
  const { threads, fewestBlocks, mostBlocks, blockMs, deadline, signal } = options;
  const random = seeded(options.seed);
  const rate = await warmUp(drivers, options);
  const isPaired = threads === 1;
  const slice = threads * Math.max(1, Math.round((rate.app * blockMs) / 1000 / threads));
  const count = isPaired ? 1 : slice;
  const blocks: Block[] = [];
  let verified = 0;
  let nextLook = fewestBlocks;
  const turn = async (block: Block): Promise<void> => {
    signal.throwIfAborted();
    for (const side of random.below(2) === 0 ? SIDES : REVERSED) {
      const done = await runChecked(drivers[side], side, count);
      verified += done.verified;
      for (const [operation, latencies] of done.latencies) {
        const known = block[side].get(operation) ?? [];
        for (const latency of latencies) known.push(latency);
        block[side].set(operation, known);
      }
    }
  };
  for (;;) {
    const block: Block = { raw: new Map(), app: new Map() };
    const end = performance.now() + blockMs;
    do {
      await turn(block);
    } while (isPaired && performance.now() < end);
    blocks.push(block);
    if (blocks.length < fewestBlocks) continue;
    const isOver = blocks.length >= mostBlocks || performance.now() >= deadline;
    if (!isOver && blocks.length < nextLook) continue;
    nextLook = Math.ceil(blocks.length * LOOK_AGAIN);
    const added = addedIn(blocks, isPaired);
    if (isOver || [...added.values()].every(isPrecise)) {
      return { blocks: blocks.length, added, rate, verified };
    }
  }
}

/** Runs operations. @throws {Error} one failed */
export async function runChecked(driver: RecordDriver, side: Side, count: number): Promise<RecordBlock> {
  const block = await driver.run(count);
  const problems = problemsOf(block);
  if (problems.length > 0) throw new Error(`${side}: ${problems.join('; ')}`);
  return block;
}

/** Runs both sides in turns. Resolves to their rates in operations per second. */
async function warmUp(
  drivers: Both<RecordDriver>,
  { threads, warmUpMs, signal }: TurnOptions,
): Promise<Both<number>> {
  const done = { raw: 0, app: 0 };
  const seconds = { raw: 0, app: 0 };
  const end = performance.now() + warmUpMs;
  do {
    signal.throwIfAborted();
    for (const side of SIDES) {
      const block = await runChecked(drivers[side], side, threads * WARM_UP_OPERATIONS);
      done[side] += block.done;
      seconds[side] += block.seconds;
    }
  } while (performance.now() < end);
  return { raw: done.raw / seconds.raw, app: done.app / seconds.app };
}

function addedIn(blocks: readonly Block[], isPaired: boolean): ReadonlyMap<MeasuredOperation, AddedLatency> {
  const series = new Map<MeasuredOperation, Latencies[]>();
  for (const { raw, app } of blocks) {
    for (const [operation, latencies] of raw) {
      const other = app.get(operation);
      if (other === undefined) continue;
      const known = series.get(operation) ?? [];
      known.push({ raw: latencies, app: other });
      series.set(operation, known);
    }
  }
  return new Map([...series].map(([operation, each]) => [operation, addedLatency(each, isPaired)]));
}
