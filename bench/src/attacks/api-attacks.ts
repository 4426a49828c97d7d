import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attack, addressOf, keep, repeat } from './attack.ts';
import { Client } from './client.ts';
import { ATTACKER } from './ingest-attacks.ts';

const PARALLEL = 3;
const LOGIN = { tls: false, clientId: 'pages', user: ATTACKER };

/** Three slow reads at a time of each of two keys. */
const groups: Attack = async (target) => {
  const readers = target.keys.read.flatMap((key, n) =>
    Array.from({ length: PARALLEL }, () => ({ key, from: addressOf(n) })),
  );
  await Promise.all(
    readers.map((options) =>
      repeat(target, () => target.request(target.api, '/v1/readings/groups?by=device', options)),
    ),
  );
};

/** 1,000 connections with three exports each, of which nothing is read. */
const stalledReaders: Attack = async (target) => {
  await keep(target, 1000, async (n) =>
    stalledReader(target.api, '/v1/export?format=csv', target.keys.read[n % 2]!, addressOf(n % 5)),
  );
};

/**
 * Pages of a quarantine of 1,000 messages, of the API and of ingest: 200 connections request them again and again, and 200
 * more read nothing.
 */
const pages: Attack = async (target) => {
  const client = await Client.login(target.mqtt, { ...LOGIN, from: addressOf(0), password: target.password });
  for (let n = 0; n < 1000; n++)
    await client.publish(`sensors/${LOGIN.user}/${'d'.repeat(400)}${n}/state`, '{'.repeat(1000), 1);
  const places = [
    [target.api, '/v1/quarantine?limit=1000'],
    [target.ingest, '/quarantine?limit=1000'],
  ] as const;
  const readers = Array.from({ length: 200 }, (_, n) => {
    const [url, path] = places[n % 2]!;
    const request = { from: addressOf(n % 5), key: target.keys.read[n % 4 < 2 ? 0 : 1] };
    return repeat(target, () => target.request(url, path, request));
  });
  const stalled = keep(target, 200, async (n) => {
    const [url, path] = places[n % 2]!;
    return stalledReader(url, path, target.keys.read[n % 4 < 2 ? 0 : 1], addressOf(n % 5));
  });
  await Promise.all([...readers, stalled]);
};

/** 100 connections with two keys of the scope `write` register ever other devices. */
const changes: Attack = async (target) => {
  let registered = 0;
  await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      repeat(target, () =>
        target.request(target.api, `/v1/devices/d${registered++}`, {
          ...{ from: addressOf(n % 5), key: target.keys.write[n % 2]!, method: 'PUT' },
          body: JSON.stringify({ city: 'x'.repeat(100) }),
        }),
      ),
    ),
  );
};

/** Sends three requests, and reads no answer. */
async function stalledReader(url: string, path: string, key: string, from: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from }).pause();
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n\r\n`.repeat(3));
  await sleep(100);
  return socket;
}

export const API_ATTACKS: Readonly<Record<string, Attack>> = {
  groups,
  'stalled-readers': stalledReaders,
  pages,
  changes,
};
