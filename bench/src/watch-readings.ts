import { setTimeout as sleep } from 'node:timers/promises';
import { HttpClient, refusalIn } from '@tidegauge/loadtests/drivers/http-client';
import { formatTime, now, type Reading } from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';
import { seeded } from '@tidegauge/workload';
import { connectAsync } from 'mqtt';

const ANSWER_MS = 10_000;

export interface VisibleOptions {
  readonly broker: string;
  readonly api: string;
  /** First segment of the device's name, and `boot` of its readings. */
  readonly run: string;
  readonly readings: number;
  /** Readings per second, on average. Low enough that no reading waits for another. */
  readonly rate: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

export interface Sighting {
  /** Time from the publish call to the end of the first read that returned the reading. null: not within 10 s. */
  readonly visibleMs: number | null;
  /** Number of reads until then. The duration of the last read is the error bound of `visibleMs`. */
  readonly reads: number;
  readonly lastReadMs: number;
}

/**
 * Publishes readings one at a time (QoS 1), at random times. Reads each reading from the API, and repeats the read
 * without a pause until the API returns the reading.
 *
 * @param between runs after each reading; the next reading waits for it
 * @throws {Error} when the API answers with an error
 */
export async function watchReadings(
  options: VisibleOptions,
  between: (seq: number) => Promise<void>,
): Promise<Sighting[]> {
  const { broker, api, run, readings, rate, seed, signal } = options;
  const random = seeded(seed);
  const publisher = await connectAsync(broker, { clientId: `${run}-publisher`, reconnectPeriod: 0 });
  const client = new HttpClient(1, null);
  const sightings: Sighting[] = [];
  try {
    for (let seq = 0; seq < readings; seq += 1) {
      await sleep(((0.5 + random.double()) * 1000) / rate, null, { signal });
      const time = now();
      const begun = performance.now();
      publisher.publish(
        `sensors/${run}/probe/temperature`,
        JSON.stringify({ t: time, v: seq, boot: run, seq }),
        {
          qos: 1,
        },
      );
      sightings.push(await untilVisible(client, readingUrl(api, `${run}/probe`, time), begun));
      await between(seq);
    }
  } finally {
    client.close();
    await publisher.endAsync();
  }
  return sightings;
}

function readingUrl(api: string, device: string, time: number): string {
  const query = new URLSearchParams({
    device,
    metric: 'temperature',
    from: formatTime(time),
    to: formatTime(time + 1),
    limit: '1',
  });
  return `${api}/v1/readings?${query}`;
}

async function untilVisible(client: HttpClient, url: string, begun: number): Promise<Sighting> {
  for (let reads = 1; ; reads += 1) {
    const sent = performance.now();
    const { status, body } = await client.send('GET', url);
    const answered = performance.now();
    if (status !== 200) throw new Error(`${url} answered ${refusalIn({ status, body })}`);
    const found = (JSON.parse(body) as { readonly readings: readonly unknown[] }).readings.length > 0;
    const late = answered - begun > ANSWER_MS;
    if (!found && !late) continue;
    return { visibleMs: found ? answered - begun : null, reads, lastReadMs: answered - sent };
  }
}

/** Measures the same without the application: writes a reading to the store and reads it back. In milliseconds. */
export async function writeAndRead({ readings }: Store, run: string, seq: number): Promise<number> {
  const time = now();
  const reading: Reading = {
    device: `${run}/raw`,
    metric: 'temperature',
    time,
    value: seq,
    received: time,
    boot: run,
    seq,
    quality: 'ok',
  };
  const query = { device: reading.device, metric: reading.metric, from: time, to: time + 1, limit: 1 };
  const begun = performance.now();
  await readings.write([reading]);
  let found = 0;
  for await (const { value } of readings.range(query)) if (value === seq) found += 1;
  const took = performance.now() - begun;
  if (found !== 1) throw new Error(`${reading.device} at ${time} was written and is not there`);
  return took;
}
