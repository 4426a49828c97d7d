import {
  MASTER_METHODS,
  type Nonce,
  PROCEDURE_STATES,
  type ProcedureMethod,
  type ProcedureResult,
  type ProcedureStarted,
} from './admin-messages.ts';
import { type Cluster, randomInt64 } from './cluster.ts';
import { toNumber } from './codec.ts';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { fromRemote } from './exceptions.ts';
import { expected } from './retry.ts';

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

/**
 * Starts a procedure on the master, and waits for its end. Because of its nonce, the request can be repeated, also at a
 * new master, and the procedure runs only once.
 *
 * @param what the operation, for messages, such as `create table t`
 * @throws {HBaseError} OUTCOME_UNKNOWN if the procedure has not ended by the deadline.
 */
export async function carryOut<Request>(
  cluster: Cluster,
  what: string,
  method: ProcedureMethod<Request>,
  request: Request,
  deadline: Deadline,
): Promise<void> {
  const nonce: Nonce = { nonceGroup: cluster.nonceGroup, nonce: randomInt64() };
  const { procId } = await cluster.callMaster(method, { ...request, ...nonce }, deadline, true);
  const number = toNumber(procId);
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const result = await askFor(cluster, what, procId, deadline);
    if (result.state === PROCEDURE_STATES.finished) return checkResult(result, what);
    if (result.state !== PROCEDURE_STATES.running) {
      throw unknown(`${what}: the master has no procedure ${number}`);
    }
    if (deadline.left <= pause) throw unknown(`${what}: procedure ${number} has not ended by the deadline`);
    await cluster.pauses.wait(pause);
  }
}

/** @throws {HBaseError} OUTCOME_UNKNOWN: the procedure continues even if its state cannot be read. */
async function askFor(
  cluster: Cluster,
  what: string,
  procId: ProcedureStarted['procId'],
  deadline: Deadline,
): Promise<ProcedureResult> {
  try {
    return await cluster.callMaster(MASTER_METHODS.procedureResult, { procId }, deadline, false);
  } catch (error) {
    throw unknown(`${what}: ${expected(error).message}`, error);
  }
}

function checkResult({ exception }: ProcedureResult, what: string): void {
  if (exception === null) return;
  const { className = '', message = '' } = exception.genericException ?? {};
  const trace = message === '' ? className : `${className}: ${message}`;
  // The procedure has ended, so a retry of the request would return the same result.
  throw fromRemote(
    { name: className, trace, doNotRetry: true, overloaded: false },
    { host: 'the master', what },
  );
}

function unknown(message: string, cause?: unknown): HBaseError {
  const hint = 'the master may still be working on it: check the state of the table, region or namespace';
  return new HBaseError('OUTCOME_UNKNOWN', message, { maybeApplied: true, hint, cause });
}
