import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificates } from '@tidegauge/lab/certificates';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { freePort } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { type ApiKey, newKey } from '@tidegauge/service';
import { openStore } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import type { ServiceProcess } from '@tidegauge/test-support/service-process';
import type { TargetDescription } from './attack.ts';
import { ATTACKER } from './ingest-attacks.ts';
import { type Expected, SENSOR_ADDRESS, SENSORS } from './sensors.ts';

const MIB = 2 ** 20;
/** `MemoryMax` of the services of the Debian package. */
export const INGEST_BYTES = 256 * MIB;
export const API_BYTES = 152 * MIB;
/** As in the image of the API (stacks/images/tidegauge/Dockerfile). */
const API_FLAGS = ['--max-old-space-size=56'];
/** mosquitto_passwd's; a check takes some milliseconds with the iterations of `npm run passwords`. */
const ITERATIONS = 101_000;
/** For all devices. */
const ALERT_RULES = '- { name: quiet, quiet: 1h }\n- { name: high, metric: t, above: 1e12 }\n';
const HISTORY_DEVICES = 2000;
const HISTORY_READINGS = 50;
const BATCH = 5000;

/** Ingest in direct mode and the API, with the memory that they have on a board of 1 GB, and SQLite. */
export interface Site {
  readonly ingest: IngestProcess;
  readonly api: ServiceProcess;
  readonly target: TargetDescription;
  readonly readKey: string;
  readonly adminKey: string;
  /** Where the store does not contain what it must. Call it when ingest has ended. */
  verify(expected: readonly Expected[]): Promise<readonly string[]>;
}

/** Starts a site whose store has 100,000 readings of 2,000 devices. */
export async function startSite(closers: Closers): Promise<Site> {
  const folder = provideFolder(closers);
  const store = `sqlite:${join(folder, 'readings.db')}`;
  await fillHistory(store);
  const certificates = await makeCertificates();
  closers.add(async () => certificates.remove());
  const keys = makeKeys(join(folder, 'keys.json'));
  const password = randomBytes(12).toString('hex');
  writeFileSync(join(folder, 'passwords'), passwordLines([ATTACKER, ...SENSORS], password), { mode: 0o600 });
  writeFileSync(join(folder, 'alerts.yml'), ALERT_RULES);
  const [mqtt, mqtts] = [await freePort(), await freePort()];
  const token = randomBytes(16).toString('hex');
  const access = { STORE: store, API_KEYS: join(folder, 'keys.json') };
  const ingest = await startIngestProcess(
    {
      ...access,
      ...{ DATA_DIR: join(folder, 'ingest'), CLIENT_ID: 'attacked', HTTP_TOKEN: token, OPEN_READS: 'true' },
      LISTEN: `mqtt://127.0.0.1:${mqtt},mqtts://127.0.0.1:${mqtts}`,
      ...{ LISTEN_CERT: certificates.certificate, LISTEN_KEY: certificates.key },
      LISTEN_PASSWORDS: join(folder, 'passwords'),
      ALERTS: join(folder, 'alerts.yml'),
    },
    { memoryBytes: INGEST_BYTES },
  );
  closers.add(async () => void (await ingest.stop()));
  const api = await startApiProcess(
    {
      ...access,
      ...{ INGEST: ingest.url, INGEST_TOKEN: token, API_TOKEN: randomBytes(16).toString('hex') },
      // The defaults, which load tests raise.
      ...{ MAX_CONNECTIONS: '512', MAX_CLIENT_CONNECTIONS: '128' },
    },
    { memoryBytes: API_BYTES, nodeFlags: API_FLAGS },
  );
  closers.add(async () => void (await api.stop()));
  return {
    ingest,
    api,
    readKey: keys.reader,
    adminKey: keys.admin,
    target: {
      mqtt: { mqtt, mqtts, ca: readFileSync(certificates.authority, 'utf8') },
      ...{ ingest: ingest.url, api: api.url, password, users: SENSORS, sensorAddress: SENSOR_ADDRESS },
      keys: { write: keys.write, read: keys.read },
    },
    verify: (expected) => verify(store, expected),
  };
}

async function fillHistory(url: string): Promise<void> {
  const store = await openStore(url);
  try {
    const received = Date.now() * 1000;
    let batch: Reading[] = [];
    for (let n = 0; n < HISTORY_DEVICES * HISTORY_READINGS; n++) {
      const series = { device: `history/d${n % HISTORY_DEVICES}`, metric: 'temperature' };
      const time = received - n * 1000;
      batch.push({ ...series, time, value: n, received, quality: 'ok', boot: null, seq: null });
      if (batch.length < BATCH) continue;
      await store.readings.write(batch);
      batch = [];
    }
  } finally {
    await store.close();
  }
}

/** Writes the file of API keys. Returns the texts of the keys. */
function makeKeys(file: string) {
  const keys: ApiKey[] = [];
  const make = (name: string, scope: 'read' | 'write' | 'admin'): string => {
    const { text, key } = newKey({ name, scopes: [scope], devices: null, expires: null }, Date.now());
    keys.push(key);
    return text;
  };
  const texts = {
    read: [make('attacker', 'read'), make('another attacker', 'read')],
    write: [make('writer', 'write'), make('another writer', 'write')],
    ...{ reader: make('reader', 'read'), admin: make('admin', 'admin') },
  } as const;
  writeFileSync(file, JSON.stringify({ keys }), { mode: 0o600 });
  return texts;
}

/** A password file in the format of mosquitto. All users have one password and one salt, because hashes take time. */
function passwordLines(users: readonly string[], password: string): string {
  const salt = randomBytes(12);
  const hash = pbkdf2Sync(password, salt, ITERATIONS, 64, 'sha512');
  const hashed = `$7$${ITERATIONS}$${salt.toString('base64')}$${hash.toString('base64')}`;
  return users.map((user) => `${user}:${hashed}\n`).join('');
}

async function verify(url: string, expected: readonly Expected[]): Promise<readonly string[]> {
  const store = await openStore(url);
  const problems: string[] = [];
  try {
    for (const { device, metric, atLeast, atMost } of expected) {
      let stored = 0;
      for await (const _ of store.readings.range({ device, metric, order: 'asc', limit: atMost + 1 }))
        stored += 1;
      if (stored < atLeast || stored > atMost)
        problems.push(`${device} ${metric}: ${stored} readings, ${atLeast} to ${atMost} expected`);
    }
  } finally {
    await store.close();
  }
  return problems.length === 0 ? [] : [`${problems.length} series are not as expected: ${problems[0]}`];
}
