import assert from 'node:assert/strict';
import type { Finding, Level } from '../../src/finding.ts';

/** The one finding of a check, its level asserted; what has to be mended says how. */
export function only(findings: readonly Finding[], check: string, level: Level): Finding {
  const found = findings.filter((finding) => finding.check === check);
  assert.equal(found.length, 1, `one ${check} in ${JSON.stringify(findings)}`);
  assert.equal(found[0]!.level, level, found[0]!.says);
  if (level === 'error' || level === 'warning') assert.ok(found[0]!.mend);
  return found[0]!;
}
