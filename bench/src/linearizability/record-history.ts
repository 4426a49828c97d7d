import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordTarget } from '@tidegauge/loadtests/drivers/record-target';
import type { Outcome } from '@tidegauge/loadtests/operations/outcome';
import { forEach } from '@tidegauge/parallel';
import { type Random, seeded, type Values } from '@tidegauge/workload';
import type { Operation, OperationType } from './history.ts';
import { KeyTurns } from './key-turns.ts';

/** Fields of each record. */
export const FIELDS = ['field0', 'field1'] as const;
/** How long a client waits after a failure, so that an outage does not fill the history. */
const FAILED_MS = 250;
/** Most operations of a run. The judge accepts as many. */
const MOST_OPERATIONS = 1_000_000;
const FINAL_READS_AT_ONCE = 16;

/** Shares of the operations: often enough inserted and deleted that a key is present and absent in turns. */
const MIX: readonly (readonly [OperationType, share: number])[] = [
  ['read', 0.45],
  ['update', 0.25],
  ['insert', 0.18],
  ['delete', 0.12],
];

export interface RecordingOptions {
  readonly clients: number;
  /** Keys that are in use at the same time. */
  readonly keys: number;
  readonly operationsOfKey: number;
  readonly seconds: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

export interface Recording {
  readonly operations: readonly Operation[];
  /** Operations without a result, by outcome. Those that write are in the history, with an unknown outcome. */
  readonly failed: ReadonlyMap<Outcome, number>;
}

/**
 * Clients insert, read, update and delete a few records at the same time, each through its own target. Each value is
 * written once.
 *
 * @param settle resolves when all faults have ended. Every key is then read once more.
 * @throws {Error} for an outcome that is a mistake of this program, such as a refused request
 */
export async function recordHistory(
  targets: readonly RecordTarget[],
  { clients, keys, operationsOfKey, seconds, seed, signal }: RecordingOptions,
  settle: () => Promise<void>,
): Promise<Recording> {
  const recorder = new Recorder();
  const turns = new KeyTurns(keys, operationsOfKey);
  const end = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: clients }, async (_, number) => {
      const target = targets[number % targets.length]!;
      const random = seeded(seed, number);
      let client = recorder.client();
      while (performance.now() < end && !signal.aborted && !recorder.isFull) {
        const type = chosen(random);
        const key = turns.next(random);
        const known = await recorder.perform(target, client, type, key, fieldsOf(type, random, recorder));
        if (known) continue;
        if (type !== 'read') {
          turns.unknown(key);
          client = recorder.client();
        }
        await sleep(FAILED_MS);
      }
    }),
  );
  signal.throwIfAborted();
  await settle();
  const [target] = targets as readonly [RecordTarget];
  await forEach(turns.keys(), FINAL_READS_AT_ONCE, async (key) => {
    await recorder.perform(target, recorder.client(), 'read', key, undefined);
  });
  return recorder;
}

class Recorder implements Recording {
  readonly operations: Operation[] = [];
  readonly failed = new Map<Outcome, number>();
  readonly #begun = process.hrtime.bigint();
  #clients = 0;
  #values = 0;

  get isFull(): boolean {
    return this.operations.length >= MOST_OPERATIONS;
  }

  client(): number {
    this.#clients += 1;
    return this.#clients - 1;
  }

  value(): string {
    this.#values += 1;
    return String(this.#values);
  }

  /** Does an operation. Resolves to whether its outcome is known. */
  async perform(
    target: RecordTarget,
    client: number,
    type: OperationType,
    key: string,
    fields: Values | undefined,
  ): Promise<boolean> {
    const start = { client, key, type, ...(fields === undefined ? {} : { fields }), call: this.#now() };
    const { outcome, found } = await perform(target, type, key, fields ?? {});
    const done = doneOf(outcome);
    if (done !== null) {
      const result = { done, ...(done && found !== null ? { found } : {}) };
      this.operations.push({ ...start, return: this.#now(), ...result });
      return true;
    }
    this.failed.set(outcome, (this.failed.get(outcome) ?? 0) + 1);
    // A read without a result has no effect.
    if (type !== 'read') this.operations.push({ ...start, return: null });
    return false;
  }

  #now(): number {
    return Number(process.hrtime.bigint() - this.#begun);
  }
}

async function perform(
  target: RecordTarget,
  type: OperationType,
  key: string,
  fields: Values,
): Promise<{ readonly outcome: Outcome; readonly found: Values | null }> {
  if (type === 'read') {
    const { outcome, values } = await target.read(key, null);
    return { outcome, found: outcome === 'OK' ? values() : null };
  }
  const outcome = type === 'delete' ? await target.delete(key) : await target[type](key, fields);
  return { outcome, found: null };
}

/** Whether an operation found or created its record. null: it is not known. */
function doneOf(outcome: Outcome): boolean | null {
  switch (outcome) {
    case 'OK':
      return true;
    case 'NOT_FOUND':
    case 'EXISTS':
      return false;
    case 'SERVICE_UNAVAILABLE':
    case 'TIMEOUT':
    case 'CONNECTION':
    case 'ERROR':
      return null;
    default:
      throw new Error(`an operation on a record ended in ${outcome}`);
  }
}

function chosen(random: Random): OperationType {
  let rest = random.double();
  for (const [type, share] of MIX) {
    rest -= share;
    if (rest < 0) return type;
  }
  return 'read';
}

/** Updates write one of the fields or all, so that a mix of two writes shows. */
function fieldsOf(type: OperationType, random: Random, recorder: Recorder): Values | undefined {
  if (type === 'read' || type === 'delete') return undefined;
  const one = type === 'update' ? random.below(FIELDS.length + 1) : FIELDS.length;
  const names = one === FIELDS.length ? FIELDS : [FIELDS[one]!];
  const value = recorder.value();
  return Object.fromEntries(names.map((name) => [name, value]));
}
