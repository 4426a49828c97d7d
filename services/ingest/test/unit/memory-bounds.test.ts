import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { boundsFor } from '../../src/memory.ts';

const KIB = 2 ** 10;
const MIB = 2 ** 20;

/** What is not in proportion to the memory, bytes. docs/access.md has the bounds of clients. */
const FIXED = {
  /** Native memory 30, the heap in use 28, new objects 16, garbage of the heap 10. Measured in direct mode, at the start. */
  program: 84 * MIB,
  /** MAX_IN_FLIGHT_BYTES, with decoded readings. */
  messages: 16 * MIB,
  httpConnections: 512 * 10 * KIB,
  resends: 4 * MIB,
  activeAlerts: 10_000 * 700,
  alertMessages: 2 * MIB,
  sparkplugBirths: 8 * MIB,
  replay: 4 * MIB,
  spoolSegment: 4 * MIB,
  answers: 4 * MIB,
  /** Messages that wait for their file, and one page. */
  quarantine: 4.5 * MIB,
  relayedBodies: 4 * MIB,
};

/** What sensors take that connect to ingest itself. */
const DIRECT = {
  handshakes: 32 * 100 * KIB,
  endedConnections: 32 * 60 * KIB,
  waitingConnections: 500 * 4 * KIB,
  wills: 2 * MIB,
  unreleased: 262_144 * 32,
  sessions: 256 * 10 * 2 * KIB,
  logins: 3 * MIB,
};

describe('bounds of memory', () => {
  test('all of them fit the limit of the Debian package, where sensors connect to ingest', () => {
    const limit = packageLimit('ingest');
    demandFit({ ...FIXED, ...DIRECT, ...boundsFor(limit) }, limit);
  });

  test('all of them fit the limit of a board with 1 GB, where sensors connect to a broker', () => {
    const limit = profileLimit('INGEST_MEMORY');
    const { connections: _, partialPackets: __, ...bounds } = boundsFor(limit);
    demandFit({ ...FIXED, ...bounds }, limit);
  });

  test('are in proportion to the limit, up to all of them', () => {
    const ample = boundsFor(4 * 2 ** 30);
    assert.deepEqual(boundsFor(768 * MIB), ample);
    assert.equal(boundsFor(256 * MIB).sequences, Math.floor(ample.sequences / 3));
  });
});

function demandFit(parts: Readonly<Record<string, number>>, limit: number): void {
  // At least three bodies fit.
  const { bodies = 0, ...others } = parts;
  const sum = Object.values(others).reduce((total, bytes) => total + bytes, Math.max(bodies, 3 * MIB));
  assert.ok(sum <= limit, `${(sum / MIB).toFixed(1)} MiB: ${JSON.stringify(parts)}`);
}

function packageLimit(service: string): number {
  const unit = read(`scripts/debian/root/usr/lib/systemd/system/tidegauge-${service}.service`);
  return Number(/^MemoryMax=(\d+)M$/m.exec(unit)![1]) * MIB;
}

function profileLimit(name: string): number {
  return Number(new RegExp(`^${name}=(\\d+)M$`, 'm').exec(read('stacks/profiles/1gb.env'))![1]) * MIB;
}

function read(file: string): string {
  return readFileSync(new URL(`../../../../${file}`, import.meta.url), 'utf8');
}
