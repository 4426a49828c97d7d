import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../../src/caller.ts';
import { Deadline } from '../../src/deadline.ts';
import { HBaseError, type HBaseErrorOptions } from '../../src/errors.ts';
import type { Region } from '../../src/region.ts';
import { Pauses, Retry } from '../../src/retry.ts';
import { onRow, type Repeat } from '../../src/single.ts';

function failure(options: HBaseErrorOptions = {}): HBaseError {
  return new HBaseError('UNREACHABLE', 'rs1:16020 ended the connection', { remedy: 'relocate', ...options });
}

function region(startCode: string): Region {
  const [name, start] = [Buffer.from('t,,1.'), Buffer.alloc(0)];
  const server = { host: 'rs1', port: 16_020 };
  return { table: 't', name, label: 't,,1.', start, end: start, server, startCode };
}

/** A caller that finds the row's region at the given starts of servers, one after the other. */
function callerOf(...starts: readonly string[]): Caller & { readonly forgotten: number } {
  let [found, forgotten] = [0, 0];
  return {
    pauses: new Pauses(),
    locations: { locate: async () => region(starts[Math.min(found++, starts.length - 1)]!) },
    lost: () => {
      forgotten += 1;
    },
    get forgotten() {
      return forgotten;
    },
  } as unknown as Caller & { readonly forgotten: number };
}

function call(caller: Caller, repeat: Repeat, isWrite: boolean, attempts: readonly (HBaseError | string)[]) {
  let tries = 0;
  const how = { table: 't', row: Buffer.from('r'), deadline: Deadline.after(400), isWrite, repeat };
  const answer = onRow(caller, how, async () => {
    const outcome = attempts[Math.min(tries, attempts.length - 1)]!;
    tries += 1;
    if (outcome instanceof HBaseError) throw outcome;
    return outcome;
  });
  return answer.then(
    (value) => ({ value, tries, error: null }),
    (error: HBaseError) => ({ value: null, tries, error }),
  );
}

test('a call finds a region that moved, without an error', async () => {
  const caller = callerOf('1', '1', '2');
  const { value, tries } = await call(caller, 'repeat', true, [failure(), failure(), 'done']);
  assert.deepEqual([value, tries, caller.forgotten], ['done', 3, 2]);
});

test('the error of a read contains the number of tries', async () => {
  const { error, tries } = await call(callerOf('1'), 'repeat', false, [failure({ maybeApplied: true })]);
  assert.equal(error?.code, 'UNREACHABLE');
  assert.equal(error?.maybeApplied, false);
  assert.match(error?.message ?? '', new RegExp(`${tries} tries in \\d+ ms`));
});

test('a write that may have been applied is OUTCOME_UNKNOWN at the deadline', async () => {
  const { error } = await call(callerOf('1'), 'repeat', true, [failure({ maybeApplied: true }), failure()]);
  assert.deepEqual([error?.code, error?.maybeApplied], ['OUTCOME_UNKNOWN', true]);
  const sure = await call(callerOf('1'), 'repeat', true, [failure()]);
  assert.deepEqual([sure.error?.code, sure.error?.maybeApplied], ['UNREACHABLE', false]);
});

test('a call that must not be repeated is not retried after it may have been applied', async () => {
  const once = await call(callerOf('1'), 'once', true, [failure(), failure({ maybeApplied: true }), 'done']);
  assert.deepEqual([once.error?.code, once.tries], ['OUTCOME_UNKNOWN', 2]);
});

test('a call with a nonce is retried only at the server that may have applied it', async () => {
  const outcomes = [failure({ maybeApplied: true }), 'done'];
  const same = await call(callerOf('1'), 'nonce', true, outcomes);
  assert.deepEqual([same.value, same.tries], ['done', 2]);
  const other = await call(callerOf('1', '2'), 'nonce', true, outcomes);
  assert.deepEqual([other.error?.code, other.tries], ['OUTCOME_UNKNOWN', 1]);
  // A call that was certainly not applied can be sent to any server.
  const moved = await call(callerOf('1', '2'), 'nonce', true, [failure(), 'done']);
  assert.equal(moved.value, 'done');
});

test('a refusal ends a call at once, with its own code', async () => {
  const refusal = new HBaseError('FAMILY_NOT_FOUND', 'no such family');
  const { error, tries } = await call(callerOf('1'), 'repeat', true, [refusal]);
  assert.deepEqual([error, tries], [refusal, 1]);
});

test('pauses end when the client is closed', async () => {
  const pauses = new Pauses();
  const retry = new Retry(Deadline.after(60_000), pauses, false);
  const waiting = retry.afterFailure(failure({ remedy: 'wait' }));
  pauses.end();
  await assert.rejects(waiting, (error) => error instanceof HBaseError && error.code === 'CLOSED');
});
