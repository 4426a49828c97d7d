import { existsSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { runProgram, temporaryDirectory } from '@tidegauge/process';
import { NODE, NODE_FLAGS, ROOT } from '../../../scripts/setup.js';
import type { Scene } from './scene.ts';
import { BOOT, METRIC, numberIn } from './streams.ts';
import type { Flow } from './traffic.ts';
import type { Witness } from './witness.ts';

const VERIFY_MS = 3_600_000;
/** Ranges of missing readings, and undecodable messages, that are listed. All are counted. */
const MOST_LISTED = 1000;

/** Readings that were acknowledged and that the store does not have. */
export interface Missing {
  readonly device: string;
  readonly first: number;
  readonly last: number;
}

/** What `npm run ledger -- verify` prints. */
export interface Verdict {
  readonly acknowledged: number;
  readonly stored: number;
  readonly missing: number;
  readonly duplicate: number;
  readonly unacknowledged: number;
  readonly listed: readonly Missing[];
}

/** Whether ingest must have a message: it was acknowledged, and not lost before ingest received it. */
export type Owed = (flow: Flow, number: number) => boolean;

/**
 * @param witness what ingest acknowledged to a broker that loses messages; null: the broker loses none
 * @param heals sensors send numbered readings again that the broker lost. An undecodable message has no number that ingest
 *   could request, so what the broker lost of these stays lost.
 */
export function owedTo(witness: Pick<Witness, 'has'> | null, heals: boolean): Owed {
  return ({ stream: { kind }, acknowledged }, number) =>
    acknowledged.has(number) &&
    (witness === null || (heals && kind !== 'undecodable') || witness.has(kind, number));
}

/** Messages that the broker acknowledged to a sensor, and lost before ingest had acknowledged them to the broker. */
export interface BrokerLoss {
  readonly messages: number;
  readonly listed: readonly Missing[];
}

/** What the broker lost, by name. */
export function judgeBroker(flows: readonly Flow[], owed: Owed): BrokerLoss {
  const listed: Missing[] = [];
  let messages = 0;
  for (const flow of flows) {
    const { stream, acknowledged, sent } = flow;
    for (let number = 0; number < sent; number++) {
      if (!acknowledged.has(number) || owed(flow, number)) continue;
      messages++;
      const seq = stream.seqOf(number);
      for (const device of stream.devicesOf(number))
        if (listed.length < MOST_LISTED) listed.push({ device, first: seq, last: seq });
    }
  }
  return { messages, listed };
}

/** Compares what ingest must have with the store, reading by reading. */
export async function judgeReadings(flows: readonly Flow[], owed: Owed, storeUrl: string): Promise<Verdict> {
  const folder = temporaryDirectory('faults-judge');
  try {
    const report = join(folder.path, 'report.json');
    await writeReport(report, flows, owed);
    const verify = [join(ROOT, 'services/ingest/src/ledger/main.ts'), 'verify', '--against', report];
    const options = ['--json', '--limit', String(MOST_LISTED)];
    const { stdout } = await runProgram(NODE, [...NODE_FLAGS, ...verify, ...options], {
      what: 'npm run ledger -- verify',
      env: { STORE: storeUrl },
      accept: [0, 1],
      timeoutMs: VERIFY_MS,
    });
    return JSON.parse(stdout) as Verdict;
  } finally {
    folder.remove();
  }
}

/** What the quarantine of the replicas has of the undecodable messages that were acknowledged. */
export interface Quarantined {
  readonly acknowledged: number;
  readonly kept: number;
  /** Numbers of messages that no quarantine has. */
  readonly missing: readonly number[];
}

export function judgeQuarantine(flows: readonly Flow[], owed: Owed, scene: Scene): Quarantined {
  const kept = keptBy(scene);
  const missing: number[] = [];
  let acknowledged = 0;
  for (const flow of flows) {
    if (flow.stream.kind !== 'undecodable') continue;
    for (let number = 0; number < flow.sent; number++) {
      if (!owed(flow, number)) continue;
      acknowledged++;
      if (!kept.has(number)) missing.push(number);
    }
  }
  return { acknowledged, kept: kept.size, missing };
}

/** Numbers of the messages that the quarantine of a replica has. */
function keptBy({ replicas, dataFolder }: Scene): ReadonlySet<number> {
  const kept = new Set<number>();
  for (const [index, replica] of replicas.entries()) {
    const file = join(dataFolder(replica), `faults-ingest-${index + 1}.quarantine.db`);
    if (!existsSync(file)) continue;
    const quarantine = new DatabaseSync(file);
    try {
      for (const { payload } of quarantine.prepare('select payload from quarantine').iterate())
        kept.add(numberIn(payload as Uint8Array));
    } finally {
      quarantine.close();
    }
  }
  return kept;
}

/** Writes the report of a simulator that had published these messages. */
async function writeReport(file: string, flows: readonly Flow[], owed: Owed): Promise<void> {
  writeFileSync(file, '{"devices":[');
  const out = await open(file, 'a');
  try {
    let comma = '';
    for (const flow of flows) {
      if (flow.stream.kind === 'undecodable') continue;
      for (let place = 0; place < Math.min(flow.stream.devices, flow.sent); place++) {
        const numbers = JSON.stringify(bootOf(flow, place, owed));
        for (const device of flow.stream.devicesOf(place)) {
          await out.write(`${comma}{"device":"${device}","metrics":["${METRIC}"],"boots":[${numbers}]}\n`);
          comma = ',';
        }
      }
    }
    await out.write(']}');
  } finally {
    await out.close();
  }
}

/** The numbers of a place that the store must have, as the report of a simulator has them. */
function bootOf(flow: Flow, place: number, owed: Owed) {
  const { stream, sent } = flow;
  const ranges: [number, number][] = [];
  const last = Math.floor((sent - 1 - place) / stream.devices);
  for (let seq = 0; seq <= last; seq++) {
    const number = place + seq * stream.devices;
    if (!owed(flow, number) || isReplaced(flow, number, owed)) continue;
    const end = ranges.at(-1);
    if (end !== undefined && end[1] === seq - 1) end[1] = seq;
    else ranges.push([seq, seq]);
  }
  return { boot: BOOT, first: 0, last, readings: last + 1, acknowledged: ranges, repeated: [] };
}

/** Whether the readings of a message are replaced by a correction, which has their time. */
function isReplaced(flow: Flow, number: number, owed: Owed): boolean {
  const correction = flow.stream.correctionOf(number);
  return correction !== null && owed(flow, correction);
}
