import assert from 'node:assert/strict';
import type { Finding, Level } from '../../src/finding.ts';

/** Returns the only finding of a check and asserts its level. An error or a warning must have a fix. */
export function only(findings: readonly Finding[], check: string, level: Level): Finding {
  const found = findings.filter((finding) => finding.check === check);
  assert.equal(found.length, 1, `one ${check} in ${JSON.stringify(findings)}`);
  assert.equal(found[0]!.level, level, found[0]!.message);
  if (level === 'error' || level === 'warning') assert.ok(found[0]!.fix);
  return found[0]!;
}
