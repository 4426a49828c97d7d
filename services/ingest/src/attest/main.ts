import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { dayName, number, openExisting, Progress, READABLE } from '@tidegauge/copy';
import { deviceNameProblem, formatTime, now } from '@tidegauge/readings';
import { ConfigError, lockDirectory } from '@tidegauge/service';
import {
  boolean,
  checkedText,
  defineCommand,
  defineConfig,
  EXIT,
  type Kind,
  oneOf,
  run,
  text,
  url,
} from '@tidegauge/service/program';
import { LedgerDamaged, readLedger } from '../ledger/read-ledger.ts';
import { SequenceLedger } from '../ledger/sequence-ledger.ts';
import { dayOfName } from '../relay/comparison.ts';
import { dayOf } from '../relay/day-digest.ts';
import type { DayRange } from '../relay/relay-log.ts';
import { settings as ingest } from '../settings.ts';
import { attest, newTotals } from './attest.ts';
import { type ChainDocument, earlierDays, keyOf, pathOf, readChain } from './chain.ts';
import { type AttestationHeader, type AttestationTotals, DocumentWriter } from './document.ts';
import { makeNext, openKey, type SigningKey, useNext } from './key.ts';

/** Days before the last one that are attested by default, so that late readings and corrections are too. */
const DAYS_BEFORE = 30;
const MOST_DAYS = 3660;

const day: Kind<number> = {
  takes: 'a UTC day such as 2026-11-23',
  placeholder: 'DAY',
  parse(value) {
    const found = dayOfName(value);
    if (found === null) throw new Error('there is no such day since 1970');
    return found;
  },
};

const deviceName = checkedText('the name of a device', 'DEVICE', deviceNameProblem);

const settings = defineConfig({
  action: {
    kind: oneOf(['rotate', 'verifier']),
    positional: true,
    help: 'rotate: make a new key, which the present one signs. verifier: print the program that verifies documents.',
  },
  from: { kind: day, help: `The first day. Default: ${DAYS_BEFORE} days before the last one.` },
  to: { kind: day, help: 'The last day, inclusive. Default: yesterday.' },
  device: { kind: deviceName, help: 'Only this device, with all devices below it.' },
  store: { ...ingest.store, kind: url(...READABLE) },
  dataDir: {
    ...ingest.dataDir,
    help: 'Directory of the ledger. The documents are in its folder attestations.',
  },
  clientId: { ...ingest.clientId, help: 'The client id of ingest, which is in the name of its ledger.' },
  attestKey: {
    kind: text('a file name'),
    help: 'The file of the private key. Default: DATA_DIR/attest.pem, which the first document makes.',
  },
  json: { kind: boolean(), default: 'false', help: 'Prints the result as JSON.' },
});

export const program = defineCommand({
  name: 'tidegauge attest',
  summary:
    'Writes a signed document about the readings of each device and day: counts, digests, gaps, deletions.',
  details:
    'The documents are a chain: each names the one before. Attest every day, also while ingest runs, and give each document to\n' +
    'those who will verify it. They need Python only: tidegauge attest verifier > verify_attestation.py',
  examples: [
    'tidegauge attest',
    'tidegauge attest --from 2026-11-01 --to 2026-11-30 --device site-3',
    'python3 verify_attestation.py --key KEY data/attestations/*.jsonl --export readings.ndjson.gz',
  ],
  configuredBy: 'environment',
  settings,
  async run(config, signal) {
    if (config.action === 'verifier') {
      process.stdout.write(readFileSync(new URL('./verify_attestation.py', import.meta.url), 'utf8'));
      return EXIT.OK;
    }
    const days = daysOf(config.from, config.to);
    const directory = join(config.dataDir, 'attestations');
    const lock = await lockDirectory(directory, 'attest', { waitMs: 0, setting: 'DATA_DIR' });
    try {
      const chain = readChain(directory);
      const keyFile = config.attestKey ?? join(config.dataDir, 'attest.pem');
      const key = openKey(keyFile, keyOf(chain));
      const path = pathOf(directory, chain.length + 1);
      const made =
        config.action === 'rotate'
          ? rotate(keyFile, { chain, key, path })
          : await attestDays({ ...config, days, chain, key, path }, signal);
      const { sha256, totals, key: publicKey } = made;
      const result = { document: path, sha256, key: publicKey, ...totals };
      process.stdout.write(config.json ? `${JSON.stringify(result)}\n` : textOf(result));
      return EXIT.OK;
    } finally {
      lock.release();
    }
  },
});

/** @throws {ConfigError} when the days have not ended, or are too many */
function daysOf(first: number | null, last: number | null): DayRange {
  const today = dayOf(now());
  const to = last ?? today - 1;
  const from = first ?? Math.max(0, to - DAYS_BEFORE);
  if (to >= today) throw new ConfigError([`${dayName(to)} has not ended (UTC): choose an earlier --to`]);
  if (from > to) throw new ConfigError(['--from is after --to: write the earlier day first']);
  if (to - from >= MOST_DAYS)
    throw new ConfigError([`these are ${to - from + 1} days, and a document has at most ${MOST_DAYS}`]);
  return { from, to };
}

interface Place {
  readonly chain: readonly ChainDocument[];
  readonly key: SigningKey;
  /** Of the new document. */
  readonly path: string;
}

interface Made {
  readonly sha256: string;
  readonly totals: AttestationTotals;
  /** The public key that signs the next document. */
  readonly key: string;
}

/** What all headers have. */
function headerOf({ chain, key }: Place) {
  return {
    attestation: 1,
    number: chain.length + 1,
    previous: chain.at(-1)?.sha256 ?? null,
    made: formatTime(now()),
    key: key.text,
  } as const;
}

function rotate(keyFile: string, place: Place): Made {
  const next = makeNext(keyFile);
  const none = { from: null, to: null, device: null, store: null, ledger: null };
  const writer = new DocumentWriter(place.path, { ...headerOf(place), nextKey: next.text, ...none });
  const totals = newTotals();
  const sha256 = writer.finish(totals, place.key.secret);
  useNext(keyFile);
  return { sha256, totals, key: next.text };
}

interface Task extends Place {
  readonly store: string;
  readonly days: DayRange;
  readonly device: string | null;
  readonly dataDir: string;
  readonly clientId: string;
}

async function attestDays(task: Task, signal: AbortSignal): Promise<Made> {
  const { days, device, chain, key } = task;
  const ledger = openLedger(join(task.dataDir, `${task.clientId}.ledger`));
  const [from, to] = [dayName(days.from), dayName(days.to)];
  const earlier = await earlierDays(chain, { from, to, device });
  const store = await openExisting(task.store);
  const progress = new Progress(process.stderr, 'attest');
  try {
    const header: AttestationHeader = {
      ...headerOf(task),
      from,
      to,
      device,
      store: await store.identity(),
      ledger: ledger === null ? null : formatTime(ledger.since),
    };
    const writer = new DocumentWriter(task.path, header);
    try {
      const options = { store, days, device, ledger, earlier, signal, progress };
      const totals = await attest(options, (line) => writer.write(line));
      return { sha256: writer.finish(totals, key.secret), totals, key: key.text };
    } catch (error) {
      writer.abandon();
      throw error;
    }
  } finally {
    progress.stop();
    await store.close();
  }
}

/** The ledger of sequence numbers that ingest keeps; null when there is none. */
function openLedger(file: string): SequenceLedger | null {
  if (!existsSync(file)) {
    process.stderr.write(`there is no ledger ${file}: gaps are listed as unjudged\n`);
    return null;
  }
  const ledger = new SequenceLedger();
  try {
    readLedger(file, ledger);
    return ledger;
  } catch (error) {
    if (!(error instanceof LedgerDamaged)) throw error;
    process.stderr.write(
      `the ledger ${file} cannot be read: gaps are listed as unjudged: ${error.message}\n`,
    );
    return null;
  }
}

interface Result extends AttestationTotals {
  readonly document: string;
  readonly sha256: string;
  readonly key: string;
}

function textOf(result: Result): string {
  const { document, sha256, key } = result;
  const counts = [
    `${number(result.days)} days of devices`,
    `${number(result.readings)} readings`,
    `${number(result.missing)} numbers missing`,
    `${number(result.arrived)} arrived and not stored now`,
    `${number(result.unjudged)} unjudged`,
    `${number(result.late)} late`,
    `${number(result.deleted)} deleted`,
    `${number(result.changed)} days changed since an earlier document`,
  ];
  const size = number(statSync(document).size);
  return `${counts.join(', ')}\ndocument ${document}, ${size} bytes\nsha256   ${sha256}\nkey      ${key}\n`;
}

if (import.meta.main) process.exitCode = await run(program);
