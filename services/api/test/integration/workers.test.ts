import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitText, type RunningProcess, startProcess, waitUntil } from '@tidegauge/process';
import { changeKeys, newKey } from '@tidegauge/service';
import { openStore, type Store } from '@tidegauge/storage';
import { NODE, NODE_ENVIRONMENT, NODE_FLAGS, ROOT } from '../../../../scripts/setup.js';
import { FakeIngest } from '../fake-ingest.ts';
import { reading } from '../harness.ts';

// The API with three worker processes. Connections are passed to workers in turn, so six connections that are opened one
// after the other reach each worker twice.

const WORKERS = 3;
const TOKEN = 'the-token-of-the-owner';
const START_MS = 60_000;
const WAIT = { timeoutMs: 20_000 };
const RATE = 20;
const CONNECTIONS = 24;
const STREAMS = 4;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One connection of a client. */
class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #port: number;
  readonly #localAddress: string;
  isClosed = false;

  constructor(port: number, localAddress = '127.0.0.1') {
    this.#port = port;
    this.#localAddress = localAddress;
  }

  ask(
    path: string,
    headers: Readonly<Record<string, string>> = {},
    method = 'GET',
    body = '',
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          ...{ agent: this.#agent, host: '127.0.0.1', port: this.#port, localAddress: this.#localAddress },
          ...{ path, method, headers: { ...headers, 'Content-Length': Buffer.byteLength(body) } },
        },
        async (response) => {
          try {
            const text = (await response.setEncoding('utf8').toArray()).join('');
            resolve({ status: response.statusCode!, headers: response.headers, text });
          } catch (error) {
            reject(error as Error);
          }
        },
      );
      sent.on('socket', (socket) => {
        if (socket.listenerCount('close', this.#onClose) === 0) socket.on('close', this.#onClose);
      });
      sent.on('error', reject).end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  readonly #onClose = (): void => {
    this.isClosed = true;
  };
}

/** Reads server-sent events. */
async function follow(url: string, lastEventId?: string) {
  const leaving = new AbortController();
  const headers: Record<string, string> = { Authorization: `Bearer ${TOKEN}`, Connection: 'close' };
  if (lastEventId !== undefined) headers['Last-Event-ID'] = lastEventId;
  const response = await fetch(`${url}/v1/live`, { headers, signal: leaving.signal });
  const stream = { status: response.status, text: '', leave: () => leaving.abort() };
  const read = async () => {
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) stream.text += text;
  };
  read().catch(() => {});
  return {
    status: response.status,
    leave: () => leaving.abort(),
    get ids() {
      return [...stream.text.matchAll(/^id: (.*)\nevent: readings/gm)].map((match) => match[1]!);
    },
    get values() {
      return [...stream.text.matchAll(/"value":(\d+)/g)].map((match) => Number(match[1]));
    },
    get hasGap() {
      return stream.text.includes('event: gap');
    },
  };
}

function start(env: Readonly<Record<string, string>>): RunningProcess {
  return startProcess({
    command: NODE,
    args: [...NODE_FLAGS, 'services/api/src/main.ts'],
    cwd: ROOT,
    stdin: 'pipe',
    extendEnv: false,
    env: {
      PATH: process.env.PATH,
      ...NODE_ENVIRONMENT,
      HTTP_PORT: '0',
      API_WORKERS: String(WORKERS),
      STOP_WITH_STDIN: 'true',
      ...env,
    },
  });
}

describe('the API with worker processes', () => {
  let folder: string;
  let store: Store;
  let ingest: FakeIngest;
  let api: RunningProcess;
  let url: string;
  let key: string;
  const opened: Connection[] = [];
  const owner = { Authorization: `Bearer ${TOKEN}` };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tidegauge-workers-'));
    store = await openStore(`sqlite:${join(folder, 'test.db')}`);
    ingest = await FakeIngest.start(store);
    const made = newKey({ name: 'limited', scopes: ['read'], devices: null, expires: null }, Date.now());
    key = made.text;
    changeKeys(join(folder, 'keys.json'), () => [made.key]);
    api = start({
      STORE: `sqlite:${join(folder, 'test.db')}`,
      INGEST: ingest.url,
      API_TOKEN: TOKEN,
      API_KEYS: join(folder, 'keys.json'),
      OPEN_READS: 'false',
      CLIENT_RATE: String(RATE),
      MAX_CLIENT_CONNECTIONS: String(CONNECTIONS),
      LIVE_CLIENTS: String(STREAMS),
    });
    const listens = /"url":"([^"]+)"[^\n]*"msg":"api workers listen"/;
    await waitUntil(
      () => `the API: ${api.log()}`,
      () => listens.test(api.log()) || !api.running,
      {
        timeoutMs: START_MS,
      },
    );
    url = listens.exec(api.log())?.[1] ?? assert.fail(`the API: ${api.log()}`);
  });
  after(async () => {
    for (const connection of opened) connection.close();
    await api?.stop();
    await ingest?.stop();
    await store?.close();
    await rm(folder, { recursive: true });
  });

  function open(localAddress?: string): Connection {
    const connection = new Connection(Number(new URL(url).port), localAddress);
    opened.push(connection);
    return connection;
  }

  /** Connections to all workers, which are open. */
  async function openSpread(count: number, localAddress?: string): Promise<Connection[]> {
    const connections = Array.from({ length: count }, () => open(localAddress));
    for (const connection of connections) assert.equal((await connection.ask('/healthz')).status, 200);
    return connections;
  }

  function workers(): number[] {
    const children = readFileSync(`/proc/${api.pid}/task/${api.pid}/children`, 'utf8');
    return children
      .trim()
      .split(' ')
      .filter((pid) => pid !== '')
      .map(Number);
  }

  async function sample(name: string): Promise<number> {
    const { text } = await open().ask('/metrics', owner);
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  test('metrics are one page, with the sums of all workers', async () => {
    const health = 'tidegauge_http_request_seconds_count{method="GET",route="/healthz",status="200"}';
    const before = await sample(health);
    await openSpread(2 * WORKERS);
    assert.equal((await sample(health)) - before, 2 * WORKERS);
    assert.equal(await sample('tidegauge_workers'), WORKERS);
    assert.equal(await sample('tidegauge_board_info'), 1);
  });

  test('the rate of a key holds across workers', async () => {
    const connections = await openSpread(2 * WORKERS, '127.0.0.2');
    const headers = { Authorization: `Bearer ${key}` };
    // The clients are known from here on, and their requests count for the key.
    for (const connection of connections) await connection.ask('/v1/devices', headers);
    await sleep(2000);
    const begun = performance.now();
    const answers = await Promise.all(
      connections.map(async (connection) => {
        const statuses: number[] = [];
        for (let n = 0; n < 20; n += 1) statuses.push((await connection.ask('/v1/devices', headers)).status);
        return statuses;
      }),
    );
    const seconds = (performance.now() - begun) / 1000;
    const done = answers.flat().filter((status) => status === 200).length;
    assert.deepEqual([...new Set(answers.flat())].sort(), [200, 429]);
    // Twice the rate can come at once.
    assert.ok(done >= 2 * RATE && done <= RATE * (2 + seconds) + 1, `${done} in ${seconds} s`);
  });

  test('wrong credentials of a client are counted across workers', async () => {
    const connections = await openSpread(2 * WORKERS, '127.0.0.3');
    const begun = performance.now();
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        const headers = { Authorization: `Bearer a-wrong-token-${n}` };
        return (await connections[n % connections.length]!.ask('/v1/devices', headers)).status;
      }),
    );
    const more = Math.floor((performance.now() - begun) / 6000);
    const checked = statuses.filter((status) => status === 401).length;
    assert.ok(checked >= 10 && checked <= 10 + more, `${checked} were checked`);
    assert.equal(statuses.filter((status) => status === 429).length, 30 - checked);
    for (const connection of connections) {
      const wrong = await connection.ask('/v1/devices', { Authorization: 'Bearer a-wrong-token' });
      if (performance.now() - begun < 5000) assert.equal(wrong.status, 429);
      assert.ok(wrong.status === 401 || Number(wrong.headers['retry-after']) >= 1);
      // Others behind the same router are not affected.
      assert.equal((await connection.ask('/v1/devices', owner)).status, 200);
    }
  });

  test('a client with the right credential may log in on many connections at once', async () => {
    const connections = await openSpread(20, '127.0.0.5');
    const answers = await Promise.all(connections.map((connection) => connection.ask('/v1/devices', owner)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    for (const connection of connections) connection.close();
  });

  test('a session is valid at all workers, and ends at all of them', async () => {
    const connections = await openSpread(2 * WORKERS);
    const signed = await connections[0]!.ask('/v1/session', owner, 'POST');
    assert.equal(signed.status, 200);
    const cookie = { Cookie: signed.headers['set-cookie']![0]!.split(';')[0]! };
    const statuses = () =>
      Promise.all(connections.map(async (each) => (await each.ask('/v1/devices', cookie)).status));
    assert.deepEqual(
      await statuses(),
      connections.map(() => 200),
    );
    const csrf = { ...cookie, 'X-CSRF-Token': JSON.parse(signed.text).csrf };
    assert.equal((await connections[1]!.ask('/v1/session', csrf, 'DELETE')).status, 204);
    assert.deepEqual(
      await statuses(),
      connections.map(() => 401),
    );
    for (const connection of connections) connection.close();
  });

  test('the audit has the changes of all workers', async () => {
    const connections = await openSpread(2 * WORKERS);
    for (const [n, connection] of connections.entries()) {
      const headers = { ...owner, 'Content-Type': 'application/json' };
      const { status, text } = await connection.ask(`/v1/devices/audited-${n}`, headers, 'PUT', '{}');
      assert.ok(status < 300, `${status} ${text}`);
    }
    for (const connection of connections.slice(0, WORKERS)) {
      await waitUntil(
        'the audit',
        async () => {
          const { text } = await connection.ask('/v1/audit', owner);
          return connections.every((_, n) => text.includes(`/v1/devices/audited-${n}`));
        },
        WAIT,
      );
    }
    for (const connection of connections) connection.close();
  });

  test('a client has no more connections than its limit', async () => {
    const connections = await openSpread(CONNECTIONS + 2 * WORKERS, '127.0.0.6');
    // Idle connections are closed for new ones.
    const left = () => connections.filter(({ isClosed }) => !isClosed).length;
    await waitUntil(
      () => `${left()} connections are left`,
      () => left() === CONNECTIONS,
      WAIT,
    );
    assert.ok(
      connections.slice(-WORKERS).every(({ isClosed }) => !isClosed),
      'the last ones stay',
    );
    for (const connection of connections) connection.close();
  });

  test('the live feed has the same ids at all workers, and one limit', async () => {
    const streams: Awaited<ReturnType<typeof follow>>[] = [];
    for (let n = 0; n < STREAMS; n += 1) streams.push(await follow(url));
    assert.deepEqual(
      streams.map(({ status }) => status),
      streams.map(() => 200),
    );
    const fifth = await follow(url);
    assert.equal(fifth.status, 503);
    await waitUntil('the API to follow ingest', () => ingest.listeners === 1, WAIT);
    await ingest.commit([reading(1), reading(2)]);
    await ingest.commit([reading(3)]);
    await waitUntil('the readings', () => streams.every(({ values }) => values.length === 3), WAIT);
    for (const { ids } of streams) assert.deepEqual(ids, streams[0]!.ids);
    // A client that comes back continues at each worker where it was.
    const [first] = streams[0]!.ids;
    for (let n = 0; n < WORKERS; n += 1) {
      streams[n]!.leave();
      await waitUntil('its place', async () => (await sample('tidegauge_live_clients')) < STREAMS, WAIT);
      const again = await follow(url, first);
      await waitUntil('the rest', () => again.values.length === 1, WAIT);
      assert.deepEqual([again.values, again.hasGap], [[3], false]);
      streams[n] = again;
    }
    for (const { leave } of streams) leave();
    await waitUntil('them to leave', async () => (await sample('tidegauge_live_clients')) === 0, WAIT);
  });

  test('when a worker is killed, only its connections fail, and it is replaced', async () => {
    const connections = await openSpread(4 * WORKERS);
    const counted = 'tidegauge_http_request_seconds_count';
    const before = await sample(counted);
    const failures = new Set<Connection>();
    let isOver = false;
    const load = connections.map(async (connection) => {
      while (!isOver && !connection.isClosed) {
        await connection.ask('/v1/devices', owner).catch(() => failures.add(connection));
      }
    });
    await sleep(300);
    const victim = workers()[1]!;
    // It is passed one of as many connections as there are workers, and does not take it.
    process.kill(victim, 'SIGSTOP');
    const outcomes: string[] = [];
    for (let n = 0; n < WORKERS; n += 1) {
      open('127.0.0.7')
        .ask('/healthz')
        .then(
          () => outcomes.push('answered'),
          () => outcomes.push('closed'),
        );
    }
    await waitUntil('the others', () => outcomes.length === WORKERS - 1, WAIT);
    process.kill(victim, 'SIGKILL');
    await waitUntil(
      'a new worker',
      async () => workers().length === WORKERS && !workers().includes(victim),
      WAIT,
    );
    await waitUntil('it to listen', async () => (await sample('tidegauge_workers')) === WORKERS, WAIT);
    await waitUntil('the last one', () => outcomes.length === WORKERS, WAIT);
    assert.deepEqual(outcomes, ['answered', 'answered', 'closed']);
    isOver = true;
    await Promise.all(load);
    const closed = connections.filter(({ isClosed }) => isClosed).length;
    assert.ok(closed >= 3 && closed <= 5, `${closed} of ${connections.length} connections were closed`);
    assert.ok(failures.size <= closed, `${failures.size} failed, ${closed} were closed`);
    assert.equal(await sample('tidegauge_worker_exits_total'), 1);
    assert.match(api.log(), /"signal":"SIGKILL"[^\n]*"waitMs":100\b/);
    const after = await sample(counted);
    assert.ok(after > before, `${after} after ${before}`);
    for (const connection of connections) connection.close();
    await openSpread(2 * WORKERS);
  });

  test('a mistake is reported once', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { port: number };
    const failing = start({ STORE: `sqlite:${join(folder, 'test.db')}`, HTTP_PORT: String(port) });
    assert.equal(exitText(await failing.exited), exitText({ code: 2, signal: null, error: null }));
    assert.match(failing.log(), new RegExp(`^port ${port} on 127.0.0.1 is taken: [^\n]*\n$`));
    taken.close();
  });

  test('SIGTERM stops all workers in an orderly way', async () => {
    const pids = workers();
    assert.equal(pids.length, WORKERS);
    assert.equal(exitText(await api.stop()), exitText({ code: 0, signal: null, error: null }));
    for (const pid of pids) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });
});
