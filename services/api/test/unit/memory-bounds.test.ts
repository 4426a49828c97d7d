import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LIMITS as ANSWERS } from '../../src/answers.ts';
import { ASKING, BODY_BYTES } from '../../src/app.ts';
import { RING_BYTES } from '../../src/live-hub.ts';

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const UNIT = '../../../../scripts/debian/root/usr/lib/systemd/system/tidegauge-api.service';

/** What the API keeps in memory, bytes. docs/access.md has the bounds of clients. */
const PARTS = {
  /** Native memory 34, the heap in use 30, new objects 16. Measured with 2,000 devices, after the start. */
  program: 80 * MIB,
  connections: 512 * 10 * KIB,
  pipelined: 4 * MIB,
  bodies: BODY_BYTES,
  relayedBodies: 4 * MIB,
  /** With all exports. */
  answers: ANSWERS.bytes,
  /** Two queries with 50,000 groups each. */
  queries: 2 * 50_000 * 250,
  live: RING_BYTES,
  /** Answers of ingest, which are in memory several times. */
  asked: ASKING * 4 * 0.5 * MIB,
  logins: 2 * MIB,
};

test('all bounds of memory together fit the limit of the Debian package', () => {
  const unit = readFileSync(new URL(UNIT, import.meta.url), 'utf8');
  const limit = Number(/^MemoryMax=(\d+)M$/m.exec(unit)![1]) * MIB;
  const sum = Object.values(PARTS).reduce((total, bytes) => total + bytes, 0);
  assert.ok(sum <= limit, `${(sum / MIB).toFixed(1)} MiB`);
});
