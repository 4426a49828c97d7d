import type { Caller } from './caller.ts';
import { type Cell, CellReader, cellSize, writeCell } from './cells.ts';
import type { Int64 } from './codec.ts';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import {
  type Action,
  METHODS,
  type NameBytesPair,
  type RegionAction,
  type RegionActionResult,
} from './messages.ts';
import type { Prepared } from './operations.ts';
import { type Region, specify } from './region.ts';
import { expected, Retry } from './retry.ts';
import { readResult } from './row.ts';
import { serverOf } from './single.ts';

/** The most operations, and the most bytes of cells, of one call. A larger operation is sent alone. */
const MAX_OPERATIONS = 2000;
const MAX_BYTES = 4 * 1024 * 1024;

interface Item {
  readonly index: number;
  readonly prepared: Prepared;
  readonly nonce: Int64 | null;
  /** The first server that may have applied the operation without an acknowledgement. */
  taker: string | null;
  maybeApplied: boolean;
  failure: HBaseError | null;
}

interface Part {
  readonly region: Region;
  readonly items: Item[];
}

/** A call to one server. */
interface Load {
  readonly parts: Map<Region, Part>;
  operations: number;
  bytes: number;
}

/**
 * Applies operations in calls to all servers at the same time. Operations on one row are applied in their order. An
 * operation that failed and may still succeed is retried until the deadline. Answers have the order of the operations.
 */
export async function runBatch(
  caller: Caller,
  table: string,
  operations: readonly Prepared[],
  nonces: { readonly group: Int64; readonly next: () => Int64 },
  deadline: Deadline,
): Promise<(Cell[] | HBaseError)[]> {
  const answers = new Array<Cell[] | HBaseError>(operations.length);
  const retry = new Retry(deadline, caller.pauses, false);
  let left = operations.map((prepared, index): Item => {
    const nonce = prepared.isDelicate ? nonces.next() : null;
    return { index, prepared, nonce, taker: null, maybeApplied: false, failure: null };
  });
  while (left.length > 0) {
    const failed: Item[] = [];
    const fail = (item: Item, failure: HBaseError): void => {
      item.failure = failure;
      item.maybeApplied ||= item.prepared.mutation !== null && failure.maybeApplied;
      if (failure.remedy === 'none') answers[item.index] = retry.verdict(failure, item.maybeApplied);
      else failed.push(item);
    };
    const servers = await group(caller, table, left, deadline, fail);
    const calls = [...servers.values()].map(async (loads) => {
      // One after the other, because operations on one row can be in several calls.
      for (const load of loads) await send(caller, load, nonces.group, deadline, answers, fail);
    });
    await Promise.all(calls);
    if (failed.length === 0) break;
    const worst = failed.find(({ failure }) => failure?.remedy === 'wait') ?? failed[0]!;
    if (!(await retry.pause(worst.failure!))) {
      for (const { index, failure, maybeApplied } of failed) {
        answers[index] = retry.verdict(failure!, maybeApplied);
      }
      break;
    }
    // In their order, because several can be on one row.
    left = failed.sort((a, b) => a.index - b.index);
  }
  return answers;
}

/** Operations by server, in calls of bounded size. */
async function group(
  caller: Caller,
  table: string,
  items: readonly Item[],
  deadline: Deadline,
  fail: (item: Item, failure: HBaseError) => void,
): Promise<Map<string, Load[]>> {
  const servers = new Map<string, Load[]>();
  let notFound: HBaseError | null = null;
  for (const item of items) {
    const { row } = item.prepared;
    let region = caller.locations.known(table, row);
    // No look-up after a failed one, because each can take long.
    if (region === undefined && notFound === null) {
      try {
        region = await caller.locations.locate(table, row, 'at', deadline);
      } catch (error) {
        notFound = expected(error);
      }
    }
    if (region === undefined) {
      fail(item, notFound!);
      continue;
    }
    const server = serverOf(region);
    if (item.nonce !== null && item.taker !== null && item.taker !== server) {
      fail(item, outcomeUnknown(item.failure!));
      continue;
    }
    add(servers, server, region, item);
  }
  return servers;
}

function outcomeUnknown({ message, host, region }: HBaseError): HBaseError {
  return new HBaseError('OUTCOME_UNKNOWN', message, {
    maybeApplied: true,
    ...(host === null ? {} : { host }),
    ...(region === null ? {} : { region }),
  });
}

function add(servers: Map<string, Load[]>, server: string, region: Region, item: Item): void {
  let loads = servers.get(server);
  if (loads === undefined) {
    loads = [];
    servers.set(server, loads);
  }
  let bytes = item.prepared.row.length;
  for (const cell of item.prepared.cells) bytes += cellSize(cell);
  let load = loads.at(-1);
  if (load === undefined || load.operations >= MAX_OPERATIONS || load.bytes + bytes > MAX_BYTES) {
    load = { parts: new Map(), operations: 0, bytes: 0 };
    loads.push(load);
  }
  let part = load.parts.get(region);
  if (part === undefined) {
    part = { region, items: [] };
    load.parts.set(region, part);
  }
  part.items.push(item);
  load.operations += 1;
  load.bytes += bytes;
}

async function send(
  caller: Caller,
  load: Load,
  nonceGroup: Int64,
  deadline: Deadline,
  answers: (Cell[] | HBaseError)[],
  fail: (item: Item, failure: HBaseError) => void,
): Promise<void> {
  const parts = [...load.parts.values()];
  const first = parts[0]!.region;
  const request = { regionAction: parts.map(regionAction), nonceGroup };
  const settle = ({ region }: Part, item: Item, outcome: Cell[] | HBaseError): void => {
    if (!(outcome instanceof HBaseError)) {
      answers[item.index] = outcome;
      return;
    }
    caller.lost(region, outcome);
    if (outcome.maybeApplied) item.taker ??= serverOf(region);
    fail(item, outcome);
  };
  try {
    const options = { deadline, cells: cellBlock(parts) };
    const answer = await caller.callRegion(first, METHODS.multi, request, options);
    const cells = new CellReader(answer.cells);
    for (const [at, part] of parts.entries()) {
      const result = answer.message.regionActionResult[at];
      readPart(caller, part, result, cells, (item, outcome) => settle(part, item, outcome));
    }
  } catch (error) {
    const failure = expected(error);
    for (const part of parts) for (const item of part.items) settle(part, item, failure);
  }
}

/**
 * Passes the outcome of each operation of a part to `settle`.
 *
 * @throws {HBaseError} PROTOCOL when the answer is of other operations
 */
function readPart(
  caller: Caller,
  { region, items }: Part,
  result: RegionActionResult | undefined,
  cells: CellReader,
  settle: (item: Item, outcome: Cell[] | HBaseError) => void,
): void {
  const refusal = (exception: NameBytesPair): HBaseError =>
    caller.refusal(exception, region, METHODS.multi.name);
  if (result === undefined || result.exception !== null) {
    const failure = result?.exception == null ? missing(region) : refusal(result.exception);
    for (const item of items) settle(item, failure);
    return;
  }
  const open = new Set(items);
  for (const { index, exception, result: found } of result.resultOrException) {
    const item = items[index];
    if (item === undefined || !open.delete(item)) throw missing(region);
    settle(item, exception === null ? readResult(found, cells) : refusal(exception));
  }
  for (const item of open) settle(item, missing(region));
}

function regionAction({ region, items }: Part): RegionAction {
  const action = items.map(({ prepared: { get, mutation }, nonce }, index): Action => {
    if (get !== null) return { index, get };
    return { index, mutation: nonce === null ? mutation! : { ...mutation!, nonce } };
  });
  return { region: specify(region), action };
}

function cellBlock(parts: readonly Part[]): Buffer {
  let size = 0;
  for (const { items } of parts) {
    for (const { prepared } of items) for (const cell of prepared.cells) size += cellSize(cell);
  }
  const block = Buffer.allocUnsafe(size);
  let at = 0;
  for (const { items } of parts) {
    for (const { prepared } of items) for (const cell of prepared.cells) at = writeCell(cell, block, at);
  }
  return block;
}

function missing({ label, server }: Region): HBaseError {
  const host = `${server.host}:${server.port}`;
  return new HBaseError('PROTOCOL', `${host} left out an answer of a batch, region ${label}`, {
    ...{ host, region: label, maybeApplied: true },
  });
}
