import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attack, addressOf, keep, repeat } from './attack.ts';

const PARALLEL = 3;

/** Three slow reads at a time of each of two keys. */
const groups: Attack = async (target) => {
  const readers = target.keys.read.flatMap((key, n) =>
    Array.from({ length: PARALLEL }, () => ({ key, from: addressOf(n) })),
  );
  await Promise.all(
    readers.map((options) =>
      repeat(
        target,
        () => true,
        () => target.request(target.api, '/v1/readings/groups?by=device', options),
      ),
    ),
  );
};

/** 1,000 connections with three exports each, of which nothing is read. */
const stalledReaders: Attack = async (target) => {
  const { hostname, port } = new URL(target.api);
  const requests = (key: string): string =>
    `GET /v1/export?format=csv HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n\r\n`.repeat(
      3,
    );
  await keep(target, 1000, async (n) => {
    const place = { host: hostname, port: Number(port), localAddress: addressOf(n % 5) };
    const socket = connect(place).pause();
    socket.on('error', () => {});
    socket.write(requests(target.keys.read[n % 2]!));
    await sleep(100);
    return socket;
  });
};

export const API_ATTACKS: Readonly<Record<string, Attack>> = {
  groups,
  'stalled-readers': stalledReaders,
};
