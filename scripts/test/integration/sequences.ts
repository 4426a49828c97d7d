import assert from 'node:assert/strict';

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
