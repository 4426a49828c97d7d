import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { generate } from 'mqtt-packet';
import { type Attack, addressOf, keep, repeat, type Target } from './attack.ts';
import { Client, type ClientOptions } from './client.ts';

/** The user whose password the attackers have. */
export const ATTACKER = 'attacker';
const WINDOW = 50;
const BIG = 100_000;
/** The times of `deliveries` are within so many seconds before the start. */
const DELIVERED_SECONDS = 400_000_000;

function attackerOf({ password }: Target, n: number, tls: boolean, addresses: number): ClientOptions {
  return { from: addressOf(n % addresses), tls, clientId: `attacker-${n}`, user: ATTACKER, password };
}

/** One login takes all connections of the listener, from two addresses. */
const idleConnections: Attack = async (target) =>
  keep(target, 1000, async (n) => (await Client.login(target.mqtt, attackerOf(target, n, false, 2))).socket);

/** 450 connections with TLS of one login publish small messages, as fast as they are acknowledged. */
const publishers: Attack = async (target) =>
  keep(target, 450, async (n) => {
    const client = await Client.login(target.mqtt, attackerOf(target, n, true, 5));
    const topic = `sensors/${ATTACKER}/t${n}/temperature`;
    for (let slot = 0; slot < WINDOW; slot++)
      void repeat(
        target,
        () => client.publish(topic, '21.5', 1),
        () => !client.closed,
      );
    return client.socket;
  });

/** 450 connections with TLS of one login send SUBSCRIBEs of 16 KB. */
const subscribers: Attack = async (target) => {
  const topics = Array.from({ length: 2000 }, (_, n) => `s/${n}`);
  const subscriptions = topics.map((topic) => ({ topic, qos: 0 as const }));
  const packet = generate({ cmd: 'subscribe', messageId: 1, subscriptions }, { protocolVersion: 4 });
  await keep(target, 450, async (n) => {
    const { socket } = await Client.login(target.mqtt, attackerOf(target, n, true, 5));
    void repeat(
      target,
      async () => {
        if (!socket.write(packet)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
        await sleep(5);
      },
      () => !socket.destroyed,
    );
    return socket;
  });
};

/** 3,000 TLS handshakes from ten addresses that never end, without a login. */
const handshakes: Attack = async (target) => {
  const hello = await clientHello();
  await keep(target, 3000, async (n) => {
    const socket = connect({ host: '127.0.0.1', port: target.mqtt.mqtts, localAddress: addressOf(n % 10) });
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(hello);
    return socket;
  });
};

/** The first message of a TLS client. */
async function clientHello(): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      resolve(chunk);
      done();
    },
  });
  const tls = connectTls({ socket: wire, servername: 'localhost' });
  tls.on('error', () => {});
  const hello = await promise;
  tls.destroy();
  return hello;
}

/** Sessions with 10,100 client ids of one login. */
const sessions: Attack = async (target) => {
  let n = 0;
  await keep(target, 50, async () => {
    n = (n + 1) % 10_100;
    const client = await Client.login(target.mqtt, { ...attackerOf(target, n, false, 5), lasting: true });
    await client.end();
    return client.socket;
  });
};

/** 262,080 QoS 2 messages of one login, 40 in each of 6,552 sessions, that are not released. */
const unreleased: Attack = async (target) => {
  let n = 0;
  await keep(target, 20, async () => {
    n = (n + 1) % 6552;
    const client = await Client.login(target.mqtt, { ...attackerOf(target, n, false, 5), lasting: true });
    const ids = Array.from({ length: 40 }, (_, id) => id + 1);
    await Promise.allSettled(ids.map((id) => client.publish(`sensors/${ATTACKER}/q/t`, `${n}`, 2, id)));
    await client.end();
    return client.socket;
  });
};

/** 20 connections at a time of one login, each of which breaks with a will of 1,000 readings. */
const wills: Attack = async (target) => {
  let n = 0;
  await keep(target, 20, async (index) => {
    n += 1;
    const payload = `{${Array.from({ length: 1000 }, (_, field) => `"f${field}":${n}`).join(',')}}`;
    const will = { topic: `sensors/${ATTACKER}/w${index}/state`, payload };
    const client = await Client.login(target.mqtt, { ...attackerOf(target, n, false, 5), will });
    client.socket.resetAndDestroy();
    return client.socket;
  });
};

/** 900 logins with wrong passwords in a second, from nine addresses, also with the names of the sensors. */
const passwords: Attack = async (target) => {
  const users = [ATTACKER, ...target.users, 'nobody'];
  for (let n = 0; !target.signal.aborted; n += 1) {
    const options = { from: addressOf(n % 9), tls: false, clientId: `guess-${n}` };
    const user = n % 3 === 0 ? `nobody-${n}` : users[n % users.length]!;
    void Client.login(target.mqtt, { ...options, user, password: `wrong-${n}` }).catch(() => {});
    if (n % 9 === 8) await sleep(10);
  }
};

/** Ten wrong passwords in a second from the address of the sensors, as behind a router, with their names. */
const neighbour: Attack = async (target) => {
  for (let n = 0; !target.signal.aborted; n += 1) {
    const user = target.users[n % target.users.length]!;
    const options = { from: target.sensorAddress, tls: false, clientId: `neighbour-${n}`, user };
    void Client.login(target.mqtt, { ...options, password: `wrong-${n}` }).catch(() => {});
    await sleep(100);
  }
};

/** Undecodable payloads of 100 KB. */
const undecodable: Attack = async (target) => {
  let n = 0;
  await keep(target, 3, async (index) => {
    const client = await Client.login(target.mqtt, attackerOf(target, index, false, 1));
    for (let slot = 0; slot < 8; slot++) {
      void repeat(
        target,
        async () => {
          n += 1;
          await client.publish(`sensors/${ATTACKER}/x${n}/state`, randomBytes(BIG), 1);
          await sleep(50);
        },
        () => !client.closed,
      );
    }
    return client.socket;
  });
};

/** Payloads that take much more memory decoded: as large as the server accepts, and larger ones. */
const widePayloads: Attack = async (target) => {
  const sizes = [8_280_000, 1_000_000, 250_000];
  const bodies = sizes.flatMap((size) => [
    `m ${fill(size, (n) => `f${n.toString(36)}=1`, ',')}`,
    `{${fill(size, (n) => `"f${n.toString(36)}":1`, ',')}}`,
    `[${fill(size, () => '[]', ',')}]`,
    `${'['.repeat(size / 2)}${']'.repeat(size / 2)}`,
    `[${fill(size, () => '{"n":"a","v":1}', ',')}]`,
    fill(size, (n) => `m,t=${n} v=1`, '\n'),
  ]);
  let n = 0;
  await publishing(target, `sensors/${ATTACKER}/wide/t`, () => {
    n += 1;
    return bodies[n % bodies.length]!;
  });
};

/** Readings of devices that were never seen, each with a long name, a unit and a missing number. */
const names: Attack = async (target) => {
  let n = 0;
  const readings = () => {
    n += 1;
    const device = `${'x'.repeat(150)}${n}`;
    const t = Math.floor(Date.now() / 1000);
    return [0, 2].map((seq) => ({ device, t: t + seq, v: n, boot: 'b', seq, unit: `unit ${n}` }));
  };
  await publishing(target, `sensors/${ATTACKER}/t`, () =>
    JSON.stringify(Array.from({ length: 1000 }, readings).flat()),
  );
};

/** Three connections send readings of ever other hours of the past. */
const hours: Attack = async (target) => {
  let n = 0;
  const start = Math.floor(Date.now() / 1000);
  const reading = () => {
    n += 1;
    return { device: `d${n % 100}`, t: start - 3600 * (n % 200_000), v: n };
  };
  await publishing(target, `sensors/${ATTACKER}/t`, () =>
    JSON.stringify(Array.from({ length: 2000 }, reading)),
  );
};

/** Three connections publish one message after the other, as fast as they are acknowledged. */
async function publishing(target: Target, topic: string, payload: () => string): Promise<void> {
  await keep(target, 3, async (index) => {
    const client = await Client.login(target.mqtt, attackerOf(target, index, false, 1));
    void repeat(
      target,
      () => client.publish(topic, payload(), 1),
      () => !client.closed,
    );
    return client.socket;
  });
}

function fill(size: number, part: (n: number) => string, separator: string): string {
  const parts: string[] = [];
  for (let length = 0, n = 0; length < size; n += 1) {
    parts.push(part(n));
    length += parts.at(-1)!.length + separator.length;
  }
  return parts.slice(0, -1).join(separator);
}

/**
 * Explanations with routes of 100,000 entries, of 40,000 keys, and of as many patterns as a mapping may have, by a key
 * with the scope `write`.
 */
const explanations: Attack = async (target) => {
  const drop = Array.from({ length: 100_000 }, (_, n) => `f${n}`);
  const fields = Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`field${n}`, `f${n}`]));
  const patterns = Array.from({ length: 200 }, (_, n) => `*1*2*3*${n}x`);
  const payload = `{${fill(190_000, (n) => `"f${n}":1`, ',')}}`;
  const topic = 'sensors/a/b';
  const bodies = [
    { topic, payload, route: { topic: 'sensors/{device}/b', mapping: { drop: patterns } } },
    { topic, payload: '{"a":1}', route: { topic: 'sensors/{device}/b', mapping: { drop } } },
    { topic, payload: '{"a":1}', route: { topic: 'sensors/{device}/b', mapping: { rename: fields } } },
    { topic, payload: '{"a":1}', route: fields },
  ].map((body) => JSON.stringify(body));
  await Promise.all(
    bodies.map((body, index) =>
      repeat(target, async () => {
        await target.request(target.ingest, '/explain', {
          ...{ from: addressOf(index), key: target.keys.write[0], method: 'POST' },
          body,
        });
      }),
    ),
  );
};

/**
 * 100 connections with two keys of the scope `write` deliver readings, as lines to ingest and to the API, and as JSON.
 *
 * @param count readings of a delivery
 */
const deliver = async (target: Target, count: number): Promise<void> => {
  const lines = (times: readonly number[]) => times.map((t) => `m,device=d v=1 ${t}`).join('\n');
  const json = (times: readonly number[]) =>
    JSON.stringify(times.map((t) => ({ device: 'd', metric: 'm', t, v: 1 })));
  const ways = [
    [target.ingest, '/lines?db=attack&precision=s', lines],
    [target.api, '/api/v2/write?bucket=attack&precision=s', lines],
    [target.ingest, '/readings', json],
  ] as const;
  const start = Math.floor(Date.now() / 1000) - DELIVERED_SECONDS;
  let sent = 0;
  // Bodies that are refused advance the time too, so it begins again before it is in the future.
  const time = () => start + (sent++ % DELIVERED_SECONDS);
  await Promise.all(
    Array.from({ length: 100 }, (_, n) => {
      const [url, path, bodyOf] = ways[n % ways.length]!;
      const key = target.keys.write[n % 2]!;
      return repeat(target, () => {
        const body = bodyOf(Array.from({ length: count }, time));
        return target.request(url, path, { ...{ from: addressOf(n % 5), key, method: 'POST', body } });
      });
    }),
  );
};

const deliveries: Attack = (target) => deliver(target, 10_000);
const smallDeliveries: Attack = (target) => deliver(target, 1);

export const INGEST_ATTACKS: Readonly<Record<string, Attack>> = {
  'idle-connections': idleConnections,
  publishers,
  subscribers,
  handshakes,
  sessions,
  unreleased,
  wills,
  passwords,
  neighbour,
  undecodable,
  'wide-payloads': widePayloads,
  names,
  hours,
  explanations,
  deliveries,
  'small-deliveries': smallDeliveries,
};
