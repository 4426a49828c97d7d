import {
  isBalanced,
  type LedgerDocument,
  type MissingDocument,
  type Stage,
  type StageDocument,
} from '@tidegauge/readings';
import { demandWithin, limitOf } from '@tidegauge/service';
import type { Handlers } from '../dispatch.ts';
import type { Answers, IngestClient } from '../ingest-client.ts';
import { defined, device, queryOf } from '../parameters.ts';

/** Largest number of gaps in the merged list. Each instance also has its own limit. */
const MAX_GAPS = 1000;

export function ledgerHandlers(ingest: IngestClient): Handlers {
  return {
    getLedger: async (_call, response) => {
      response.json(mergeLedgers(await ingest.ledgers()));
    },
    listMissing: async (call, response) => {
      const { limit = 100, device: named } = queryOf<{ device: string; limit: number }>(call);
      const prefix = named === undefined ? limitOf(call) : demandWithin(call, device(named));
      response.json(onlyMissing(await ingest.missing(defined({ limit, device: prefix ?? undefined }))));
    },
  };
}

/** Of several instances each receives a part of the numbers, so none has those that are missing. */
function onlyMissing({ answers, unreachable }: Answers<MissingDocument>) {
  const isKnown = answers.length === 1 && unreachable.length === 0;
  return isKnown ? { ...answers[0]!.value, isKnown } : { missing: [], truncated: false, isKnown };
}

/**
 * Merges the ledgers of all instances. Counts are added. Each delay is the longest of any instance, because quantiles
 * of several instances cannot be merged exactly, and the slowest instance is the one to examine.
 */
export function mergeLedgers({ answers, unreachable }: Answers<LedgerDocument>) {
  const instances = answers.map(({ value }) => value);
  const total = (pick: (ledger: LedgerDocument) => number) =>
    instances.reduce((sum, each) => sum + pick(each), 0);
  const stage = (name: Stage): StageDocument => ({
    count: total(({ stages }) => stages[name].count),
    p50: worst(instances.map(({ stages }) => stages[name].p50)),
    p99: worst(instances.map(({ stages }) => stages[name].p99)),
  });
  const gaps = instances.flatMap((each) => each.gaps.list);
  const latest = (times: readonly string[]) => times.reduce((a, b) => (a > b ? a : b));
  return {
    since: latest(instances.map(({ since }) => since)),
    readings: {
      received: total(({ readings }) => readings.received),
      stored: total(({ readings }) => readings.stored),
      duplicate: total(({ readings }) => readings.duplicate),
      // An ingest process of an earlier version has no filter.
      filtered: total(({ readings }) => readings.filtered ?? 0),
      quarantined: total(({ readings }) => readings.quarantined),
      spooled: total(({ readings }) => readings.spooled),
      inFlight: total(({ readings }) => readings.inFlight),
    },
    balanced: instances.every((each) => each.balanced && isBalanced(each.readings)),
    // An ingest process of an earlier version has none.
    trouble: instances.find(({ trouble }) => trouble != null)?.trouble ?? null,
    messages: {
      received: total(({ messages }) => messages.received),
      retainedSkipped: total(({ messages }) => messages.retainedSkipped),
    },
    mqtt: {
      connected: instances.every(({ mqtt }) => mqtt.connected),
      reconnects: total(({ mqtt }) => mqtt.reconnects),
      addresses: instances.flatMap(({ mqtt }) => mqtt.addresses ?? []),
    },
    oldestUnstoredSeconds: Math.max(...instances.map((each) => each.oldestUnstoredSeconds)),
    stageSeconds: Math.max(...instances.map(({ stageSeconds }) => stageSeconds)),
    stages: {
      travel: stage('travel'),
      queue: stage('queue'),
      store: stage('store'),
      ack: stage('ack'),
      end_to_end: stage('end_to_end'),
    },
    // An ingest process of an earlier version has none.
    deleted: total(({ deleted }) => deleted ?? 0),
    writtenBytes: instances.some(({ writtenBytes }) => writtenBytes == null)
      ? null
      : total(({ writtenBytes }) => writtenBytes!),
    gaps: {
      since: latest(instances.map(({ since, gaps }) => gaps.since ?? since)),
      devices: total((each) => each.gaps.devices),
      missing: total((each) => each.gaps.missing),
      duplicates: total((each) => each.gaps.duplicates),
      givenUp: total((each) => each.gaps.givenUp),
      unjudged: total((each) => each.gaps.unjudged),
      // An ingest process of an earlier version has none.
      healed: total((each) => each.gaps.healed ?? 0),
      gone: total((each) => each.gaps.gone ?? 0),
      list: gaps.slice(0, MAX_GAPS),
      truncated: gaps.length > MAX_GAPS || instances.some((each) => each.gaps.truncated),
    },
    instances,
    unreachable,
  };
}

function worst(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
