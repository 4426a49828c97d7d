import type { Caller } from './caller.ts';
import { type Cell, CellReader, encodeCells, toBytes } from './cells.ts';
import type { Int64 } from './codec.ts';
import type { Deadline } from './deadline.ts';
import type { HBaseError } from './errors.ts';
import { binaryComparator } from './filters.ts';
import { type ConditionMessage, METHODS } from './messages.ts';
import type { Condition, Prepared } from './operations.ts';
import { type Region, specify } from './region.ts';
import { Retry } from './retry.ts';
import { readResult } from './row.ts';

/**
 * Whether a call can be repeated. `repeat`: always, because it is idempotent. `nonce`: only at the server that may have
 * applied it, because only that server recognizes the nonce. `once`: never. Without an answer, the outcome is unknown.
 */
export type Repeat = 'repeat' | 'nonce' | 'once';

export interface OnRow {
  readonly table: string;
  readonly row: Buffer;
  readonly deadline: Deadline;
  readonly isWrite: boolean;
  readonly repeat: Repeat;
}

/** A failed write that the server may have applied. */
interface Unknown {
  readonly failure: HBaseError;
  readonly server: string;
}

function unknownOf(failure: HBaseError, region: Region | null, isWrite: boolean): Unknown | null {
  return isWrite && failure.maybeApplied && region !== null ? { failure, server: serverOf(region) } : null;
}

/** Calls the server that has a row, and retries until it answers or the deadline has passed. */
export async function onRow<T>(
  caller: Caller,
  { table, row, deadline, isWrite, repeat }: OnRow,
  attempt: (region: Region) => Promise<T>,
): Promise<T> {
  const retry = new Retry(deadline, caller.pauses, isWrite);
  let unknown: Unknown | null = null;
  for (;;) {
    let region: Region | null = null;
    try {
      region = await caller.locations.locate(table, row, 'at', deadline);
      if (unknown === null || unknown.server === serverOf(region) || repeat === 'repeat') {
        return await attempt(region);
      }
    } catch (error) {
      if (region !== null) caller.lost(region, error);
      const failure = retry.note(error);
      unknown ??= unknownOf(failure, region, isWrite);
      if (unknown !== null && repeat === 'once') throw retry.verdict(failure);
      await retry.afterFailure(failure);
      continue;
    }
    throw retry.verdict(unknown.failure);
  }
}

/** Identifies a server and its start: the identifier changes after a restart. */
export function serverOf({ server, startCode }: Region): string {
  return `${server.host}:${server.port} ${startCode}`;
}

/** The cells of a row, or none if the row does not exist. */
export function getRow(
  caller: Caller,
  table: string,
  { row, get }: Prepared,
  deadline: Deadline,
): Promise<Cell[]> {
  return onRow(caller, { table, row, deadline, isWrite: false, repeat: 'repeat' }, async (region) => {
    const request = { region: specify(region), get: get! };
    const { message, cells } = await caller.callRegion(region, METHODS.get, request, { deadline });
    return readResult(message.result, new CellReader(cells));
  });
}

export function rowExists(
  caller: Caller,
  table: string,
  { row, get }: Prepared,
  deadline: Deadline,
): Promise<boolean> {
  return onRow(caller, { table, row, deadline, isWrite: false, repeat: 'repeat' }, async (region) => {
    const request = { region: specify(region), get: { ...get!, existenceOnly: true } };
    const { message } = await caller.callRegion(region, METHODS.get, request, { deadline });
    return message.result?.exists ?? false;
  });
}

/** Resolves to the cells of the answer: for an increment or append, the new values. */
export function mutateRow(
  caller: Caller,
  table: string,
  { row, mutation, cells, isDelicate }: Prepared,
  nonces: { readonly group: Int64; readonly next: () => Int64 },
  deadline: Deadline,
): Promise<Cell[]> {
  const nonce = isDelicate ? { nonce: nonces.next() } : {};
  const block = encodeCells(cells);
  const repeat = isDelicate ? 'nonce' : 'repeat';
  return onRow(caller, { table, row, deadline, isWrite: true, repeat }, async (region) => {
    const request = {
      region: specify(region),
      mutation: { ...mutation!, ...nonce },
      ...(isDelicate ? { nonceGroup: nonces.group } : {}),
    };
    const answer = await caller.callRegion(region, METHODS.mutate, request, { deadline, cells: block });
    return readResult(answer.message.result, new CellReader(answer.cells));
  });
}

/** One mutation of a row, or several together, if the condition holds. Resolves to whether it did. */
export function checkAndMutateRow(
  caller: Caller,
  table: string,
  condition: ConditionMessage,
  mutations: readonly Prepared[],
  deadline: Deadline,
): Promise<boolean> {
  const block = encodeCells(mutations.flatMap(({ cells }) => cells));
  // Servers do not check the nonce of a checkAndMutate. After the first call, the condition can be false because of it.
  const target = { table, row: condition.row, deadline, isWrite: true, repeat: 'once' } as const;
  return onRow(caller, target, async (region) => {
    const options = { deadline, cells: block };
    const [only] = mutations;
    if (mutations.length === 1) {
      const request = { region: specify(region), mutation: only!.mutation!, condition };
      return (await caller.callRegion(region, METHODS.mutate, request, options)).message.processed;
    }
    const action = mutations.map(({ mutation }, index) => ({ index, mutation: mutation! }));
    const regionAction = [{ region: specify(region), action, atomic: true, condition }];
    const { message } = await caller.callRegion(region, METHODS.multi, { regionAction }, options);
    const [result] = message.regionActionResult;
    const exception =
      result?.exception ?? result?.resultOrException.find((each) => each.exception)?.exception;
    if (exception != null) throw caller.refusal(exception, region, METHODS.multi.name);
    return result?.processed ?? message.processed;
  });
}

/** In a condition, HBase has the given value on the left of the comparison. */
const SWAPPED = { less: 5, lessOrEqual: 4, equal: 2, notEqual: 3, greaterOrEqual: 1, greater: 0 } as const;

export function conditionMessage(row: Buffer, condition: Condition): ConditionMessage {
  const { family, qualifier, comparison = 'equal', value, timeRange } = condition;
  return {
    row,
    family: toBytes(family),
    qualifier: toBytes(qualifier),
    compareType: SWAPPED[comparison],
    comparator: binaryComparator(value === null ? null : toBytes(value)),
    ...(timeRange === undefined ? {} : { timeRange }),
  };
}
