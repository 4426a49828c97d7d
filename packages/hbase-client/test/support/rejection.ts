import assert from 'node:assert/strict';
import { HBaseError, type HBaseErrorCode } from '../../src/index.ts';

/** Resolves to the error with which the call rejects. The error must have this code. */
export async function rejection(promise: Promise<unknown>, code: HBaseErrorCode): Promise<HBaseError> {
  const error = await promise.then(
    () => assert.fail(`expected ${code}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HBaseError, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}
