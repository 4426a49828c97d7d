import assert from 'node:assert/strict';
import { waitUntil } from '@tidegauge/process';
import type { LedgerDocument } from '@tidegauge/readings';
import mqtt from 'mqtt';

/** A stored reading's number, and its time in milliseconds since 1970. */
export interface Numbered {
  readonly seq: number;
  readonly at: number;
}

/** The numbers of all readings of a device, ascending. Fails when they are of several boots. */
export async function sequencesOf(api: string, device: string): Promise<Numbered[]> {
  const { readings } = (await (await fetch(`${api}/v1/readings?device=${device}&limit=10000`)).json()) as {
    readings: readonly { seq: number; boot: string; time: string }[];
  };
  assert.ok(new Set(readings.map(({ boot }) => boot)).size <= 1, device);
  return readings.map(({ seq, time }) => ({ seq, at: Date.parse(time) })).toSorted((a, b) => a.seq - b.seq);
}

/** Fails unless a device has each of its readings once, and some from the time of an outage. */
export function assertComplete(
  stored: readonly Numbered[],
  from: number,
  until: number,
  device: string,
): void {
  assert.deepEqual(
    stored.map(({ seq }) => seq),
    stored.map((_, index) => index),
    `${device} has each of its readings once`,
  );
  const during = stored.filter(({ at }) => at > from && at < until).length;
  assert.ok(during >= 4, `${device} has ${during} readings of the outage`);
}

/** Fails unless the sensor of a device publishes its newest reading again when that is requested at the broker. */
export async function assertSendsAgain(api: string, broker: string, device: string): Promise<void> {
  const get = async (path: string) => (await fetch(`${api}${path}`)).json();
  const { readings } = (await get(`/v1/readings?device=${device}&limit=1`)) as {
    readings: readonly { seq: number; boot: string }[];
  };
  const { seq, boot } = readings[0]!;
  const duplicates = async () => ((await get('/v1/ledger')) as LedgerDocument).readings.duplicate;
  const before = await duplicates();
  const client = await mqtt.connectAsync(broker);
  try {
    const isSent = async () => {
      // As ingest does: without a queue for a sensor that is not connected.
      const request = JSON.stringify({ device, boot, ranges: [[seq, seq]] });
      await client.publishAsync(`tidegauge/resend/${device}`, request);
      return (await duplicates()) > before;
    };
    await waitUntil(`a reading of ${device} that is sent again`, isSent, { timeoutMs: 40_000, pollMs: 500 });
  } finally {
    await client.endAsync();
  }
}
