import {
  MASTER_METHODS,
  type Nonce,
  PROCEDURE_STATES,
  type ProcedureMethod,
  type ProcedureResult,
} from './admin-messages.ts';
import { type Cluster, randomInt64 } from './cluster.ts';
import { toNumber } from './codec.ts';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { fromRemote } from './exceptions.ts';

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

/**
 * Has the master carry out a procedure, and waits for its end. A nonce lets the request be made again, also to a
 * master that has taken over, without its being carried out twice.
 *
 * @param what for messages: `create table t`
 * @throws {HBaseError} OUTCOME_UNKNOWN when it has not ended by the deadline.
 */
export async function carryOut<Request>(
  cluster: Cluster,
  what: string,
  method: ProcedureMethod<Request>,
  request: Request,
  deadline: Deadline,
): Promise<void> {
  const nonce: Nonce = { nonceGroup: cluster.nonceGroup, nonce: randomInt64() };
  const { procId } = await cluster.callMaster(method, { ...request, ...nonce }, deadline, false);
  const number = toNumber(procId);
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const result = await cluster.callMaster(MASTER_METHODS.procedureResult, { procId }, deadline, false);
    if (result.state === PROCEDURE_STATES.finished) return checkResult(result, what);
    if (result.state !== PROCEDURE_STATES.running) {
      throw unknown(`${what}: the master knows nothing of procedure ${number} any more`);
    }
    if (deadline.left <= pause) throw unknown(`${what}: procedure ${number} goes on after the deadline`);
    await cluster.pauses.wait(pause);
  }
}

function checkResult({ exception }: ProcedureResult, what: string): void {
  if (exception === null) return;
  const { className = '', message = '' } = exception.genericException ?? {};
  const trace = message === '' ? className : `${className}: ${message}`;
  // It is over, so that the same request would find the same.
  throw fromRemote(
    { name: className, trace, doNotRetry: true, overloaded: false },
    { host: 'the master', what },
  );
}

function unknown(message: string): HBaseError {
  const hint = 'look at the procedures in the master’s log';
  return new HBaseError('OUTCOME_UNKNOWN', message, { maybeApplied: true, hint });
}
