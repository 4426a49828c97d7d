import { buildLinearizability } from '@tidegauge/lab/linearizability';
import { textTable } from '@tidegauge/loadtests/results/table';
import { runProgram } from '@tidegauge/process';
import { type History, type Operation, toLines } from './history.ts';

/** Longest time for one key. With few operations of unknown outcome, a key takes milliseconds. */
const KEY_SECONDS = 60;
const PROGRAM_MS = 1_800_000;

export interface Judgement {
  readonly keys: number;
  readonly operations: number;
  /** Keys whose histories are not linearizable. */
  readonly violated: readonly string[];
  /** Keys that were not decided within a minute each. */
  readonly undecided: readonly string[];
  /** Operations of one key that no order explains, as few as were found. null without a violation. */
  readonly shortest: readonly Operation[] | null;
}

interface Report extends Omit<Judgement, 'shortest'> {
  readonly shortest: { readonly operations: readonly number[] } | null;
}

/**
 * Decides for each key whether its history is linearizable (Herlihy and Wing 1990), with Porcupine.
 *
 * @param html a file for Porcupine's page of the shortest violation, or else of the first key
 * @throws {Error} when Go is not installed, or when a page cannot be written
 */
export async function judge(history: History, html: string | null = null): Promise<Judgement> {
  const program = await buildLinearizability();
  const page = html === null ? [] : ['-html', html];
  const { stdout } = await runProgram(program, ['-timeout', `${KEY_SECONDS}s`, ...page], {
    input: toLines(history),
    timeoutMs: PROGRAM_MS,
  });
  const report = JSON.parse(stdout) as Report;
  const shortest = report.shortest?.operations.map((number) => history.operations[number]!) ?? null;
  return { ...report, shortest };
}

/** Operations as a table, with times in milliseconds after the first of them. */
export function operationsTable(operations: readonly Operation[]): string {
  const first = Math.min(...operations.map(({ call }) => call));
  const millis = (time: number): string => ((time - first) / 1e6).toFixed(3);
  return textTable([
    ['operation', 'client', 'from ms', 'to ms'],
    ...operations.map((each) => [
      textOf(each),
      String(each.client),
      millis(each.call),
      each.return === null ? '?' : millis(each.return),
    ]),
  ]);
}

function textOf({ type, fields, done, found }: Operation): string {
  const call = fields === undefined ? type : `${type} ${show(fields)}`;
  if (done === undefined) return `${call}: outcome unknown`;
  if (type === 'read') return `${call}: ${done ? show(found ?? {}) : 'absent'}`;
  if (type === 'insert') return `${call}: ${done ? 'created' : 'existed'}`;
  return `${call}: ${done ? 'done' : 'absent'}`;
}

function show(fields: Readonly<Record<string, string>>): string {
  const texts = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  return `{${texts.toSorted().join(' ')}}`;
}
