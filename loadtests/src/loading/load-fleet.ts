import type { HttpClient } from '../drivers/http-client.ts';
import { deviceDocument, deviceName, METRIC, readingTime, readingValue } from '../operations/fleet.ts';
import { type Items, insist } from './load.ts';

const STRETCH = 5000;

/** Devices of the fleet, without readings. */
export function deviceItems(api: string, client: HttpClient, count: number): Items {
  return {
    name: 'devices',
    count,
    async isThere(number) {
      const read = () => client.send('GET', `${api}/v1/devices/${deviceName(number)}`);
      return (await insist(`reading ${deviceName(number)}`, read, 'NOT_FOUND')).status === 200;
    },
    insert: (number) => putDevice(api, client, number),
  };
}

/**
 * Devices of the fleet, each with `readings` readings. A device's newest reading is stored last, so its presence shows
 * that the device is complete.
 */
export function readingItems(api: string, client: HttpClient, devices: number, readings: number): Items {
  return {
    name: `devices with ${readings} readings each`,
    count: devices,
    async isThere(number) {
      const name = deviceName(number);
      const read = () => client.send('GET', `${api}/v1/readings/latest?device=${encodeURIComponent(name)}`);
      const { body } = await insist(`reading ${name}`, read);
      const [latest] = (JSON.parse(body) as { readings: { time: string }[] }).readings;
      return latest !== undefined && Date.parse(latest.time) >= Date.parse(readingTime(readings - 1));
    },
    async insert(number) {
      await putDevice(api, client, number);
      for (let first = 0; first < readings; first += STRETCH) {
        const body = JSON.stringify(batch(number, first, Math.min(readings, first + STRETCH)));
        await insist(`storing readings of ${deviceName(number)}`, () =>
          client.send('POST', `${api}/v1/readings`, body),
        );
      }
    },
  };
}

async function putDevice(api: string, client: HttpClient, number: number): Promise<void> {
  const url = `${api}/v1/devices/${deviceName(number)}`;
  const body = JSON.stringify(deviceDocument(number));
  await insist(`registering ${deviceName(number)}`, () => client.send('PUT', url, body));
}

function batch(number: number, first: number, end: number): object[] {
  return Array.from({ length: end - first }, (_, offset) => ({
    device: deviceName(number),
    metric: METRIC,
    t: readingTime(first + offset),
    v: readingValue(number, first + offset),
  }));
}
