import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { toReadingDocument } from '@tidegauge/readings';
import { type Api, reading, startApi, until } from '../harness.ts';

interface Event {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: readings or a gap
  readonly data: any;
}

/** A client that reads server-sent events. */
async function listen(t: TestContext, api: Api, query = '', lastEventId?: string) {
  const leaving = new AbortController();
  t.after(() => leaving.abort());
  const headers: Record<string, string> = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
  const response = await fetch(`${api.url}/v1/live${query}`, { headers, signal: leaving.signal });
  const events: Event[] = [];
  const comments: string[] = [];
  const client = {
    response,
    events,
    comments,
    lastId: '',
    leave: () => leaving.abort(),
    readings: () => values(events),
  };
  const read = async () => {
    let rest = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) {
        const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
        if (fields.has('id')) client.lastId = fields.get('id')!;
        if (fields.has('')) comments.push(fields.get('')!);
        if (!fields.has('data')) continue;
        events.push({
          id: fields.get('id')!,
          event: fields.get('event')!,
          data: JSON.parse(fields.get('data')!),
        });
      }
    }
  };
  if (response.ok) read().catch(() => {});
  return client;
}

function values(events: readonly Event[]): number[] {
  return events.flatMap(({ data }) => (data.readings ?? []).map((each: { value: number }) => each.value));
}

async function listening(t: TestContext, api: Api, query = '', lastEventId?: string) {
  const client = await listen(t, api, query, lastEventId);
  await until('the API to follow ingest', () => api.ingest.listeners === 1);
  return client;
}

test('readings arrive as events with ids, in commit order', async (t) => {
  const api = await startApi(t);
  const client = await listening(t, api);
  assert.equal(client.response.headers.get('Content-Type'), 'text/event-stream');
  await api.ingest.commit([reading(1), reading(2)]);
  await api.ingest.commit([reading(3)]);
  await until('three readings', () => client.readings().length === 3);
  assert.deepEqual(client.readings(), [1, 2, 3]);
  assert.equal(new Set(client.events.map(({ id }) => id)).size, client.events.length);
  assert.deepEqual(client.events[0]!.event, 'readings');
  assert.equal(client.events[0]!.data.readings[0].time, '2026-11-21T00:00:01.000000Z');
});

test('a device filter selects the device and everything below it, but not names with the same prefix', async (t) => {
  const api = await startApi(t);
  const device = await listening(t, api, '?device=site-3/boiler');
  const metric = await listen(t, api, '?metric=humidity');
  const both = await listen(t, api, '?device=site-3/boiler/probe-7&metric=humidity');
  const names = ['site-3/boiler', 'site-3/boiler/probe-7', 'site-3/boiler-2', 'site-3'];
  await api.ingest.commit(names.map((name, value) => reading(1, { device: name, value })));
  await api.ingest.commit(
    names.map((name, value) => reading(1, { device: name, metric: 'humidity', value: value + 10 })),
  );
  await until('the last reading', () => metric.readings().length === 4 && both.readings().length === 1);
  assert.deepEqual(device.readings(), [0, 1, 10, 11]);
  assert.deepEqual(metric.readings(), [10, 11, 12, 13]);
  assert.deepEqual(both.readings(), [11]);
});

test('a client that reconnects continues after its last event', async (t) => {
  const api = await startApi(t);
  const stays = await listening(t, api);
  const first = await listen(t, api);
  await api.ingest.commit([reading(1)]);
  await until('the first reading', () => first.readings().length === 1);
  first.leave();
  await until('it to leave', () => api.live.clients === 1);
  await api.ingest.commit([reading(2)]);
  await api.ingest.commit([reading(3)]);
  await until('all to pass', () => stays.readings().length === 3);
  const second = await listen(t, api, '', first.lastId);
  await until('what was missed', () => second.readings().length === 2);
  assert.deepEqual(second.readings(), [2, 3]);
  assert.ok(second.events.every(({ event }) => event === 'readings'));
});

test('a client that reconnects too late receives the number of missed readings', async (t) => {
  const api = await startApi(t, { live: { ringReadings: 100 } });
  const stays = await listening(t, api);
  const first = await listen(t, api);
  await api.ingest.commit([reading(0)]);
  await until('the first reading', () => first.readings().length === 1);
  first.leave();
  for (let n = 0; n < 30; n++)
    await api.ingest.commit(Array.from({ length: 10 }, (_, i) => reading(1 + n * 10 + i)));
  await until('all to pass', () => stays.readings().length === 301);
  const second = await listen(t, api, '', first.lastId);
  await until('the rest of the ring', () => second.readings().length === 100);
  assert.equal(second.events[0]!.event, 'gap');
  assert.deepEqual(second.events[0]!.data, { missed: 200 });
  assert.equal(second.readings()[0], 201);
});

test('an id of another process, or an invalid one, gives a gap of unknown size', async (t) => {
  const api = await startApi(t);
  for (const id of ['0123456789-1-1', 'nonsense']) {
    const client = await listen(t, api, '', id);
    await until('the gap', () => client.events.length === 1);
    assert.deepEqual(client.events[0]!.data, { missed: null });
    client.leave();
  }
});

test('for a client that does not read only a position is kept, and later it receives a gap', async (t) => {
  const api = await startApi(t, { live: { ringReadings: 2000 } });
  const keeps = await listening(t, api);
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  socket.pause();
  socket.write('GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await until('both clients', () => api.live.clients === 2);

  const batch = Array.from({ length: 500 }, (_, i) => reading(i, { value: 'x'.repeat(1000) }));
  const lines = 60;
  for (let n = 0; n < lines; n++) {
    api.ingest.say({
      id: String(n),
      readings: batch.map((each) => ({ ...each, time: '', received: '' }) as never),
    });
    const seen = (n + 1) * batch.length;
    await until('the client that reads', () => count(keeps.events) >= seen);
  }

  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  socket.resume();
  let slow = { readings: 0, missed: 0 };
  await until('everything to be accounted for', () => {
    const gaps = [...text.matchAll(/event: gap\r?\ndata: {"missed":(\d+)}/g)];
    slow = {
      readings: text.match(/"device":/g)?.length ?? 0,
      missed: gaps.reduce((sum, [, missed]) => sum + Number(missed), 0),
    };
    return slow.readings + slow.missed >= lines * batch.length;
  });
  assert.equal(slow.readings + slow.missed, lines * batch.length);
  assert.ok(slow.missed > 0, 'the connection accepted everything, so the client was never slow');
});

function count(events: readonly Event[]): number {
  return events.reduce((sum, { data }) => sum + (data.readings?.length ?? 0), 0);
}

test('readings that ingest skipped, and those of a lost connection, are gaps for all clients', async (t) => {
  const api = await startApi(t);
  const client = await listening(t, api);
  api.ingest.say({ id: '1', missed: 42 });
  await until('the gap', () => client.events.length === 1);
  assert.deepEqual(client.events[0]!.data, { missed: 42 });
  api.ingest.cut();
  await until('the connection to be lost', () => api.ingest.listeners === 0);
  await until('the connection to be back', () => api.ingest.listeners === 1);
  await api.ingest.commit([reading(5)]);
  await until('the reading behind the gap', () => client.events.length === 3);
  assert.deepEqual(client.events[1]!.data, { missed: null });
  assert.deepEqual(client.readings(), [5]);
});

test('comments keep the connection open and update the position for every filter', async (t) => {
  const api = await startApi(t, { live: { heartBeatMs: 20 } });
  const all = await listening(t, api);
  const quiet = await listen(t, api, '?device=elsewhere');
  await api.ingest.commit([reading(1)]);
  await until('the reading', () => all.readings().length === 1);
  await until('the position of it', () => quiet.lastId === all.events[0]!.id);
  assert.ok(quiet.comments.includes('heart-beat'));
  assert.equal(quiet.events.length, 0);
});

test('beyond the maximum a client receives 503 and a time to retry', async (t) => {
  const api = await startApi(t, { config: { liveClients: 2 } });
  const [first] = [await listening(t, api), await listen(t, api)];
  const third = await listen(t, api);
  assert.equal(third.response.status, 503);
  assert.equal(third.response.headers.get('Retry-After'), '10');
  assert.match(third.response.headers.get('Content-Type')!, /problem\+json/);
  first.leave();
  await until('room', () => api.live.clients === 1);
  assert.equal((await listen(t, api)).response.status, 200);
});

test('an address with all streams loses some of them to other clients', async (t) => {
  const api = await startApi(t, { config: { liveClients: 4 } });
  const greedy = [await listening(t, api)];
  for (let n = 1; n < 4; n += 1) greedy.push(await listen(t, api));
  const join = (from: string) => {
    const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', localAddress: from });
    t.after(() => socket.destroy());
    const client = { text: '' };
    socket.setEncoding('utf8').on('data', (part: string) => {
      client.text += part;
    });
    socket.write('GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    return client;
  };
  const others = [join('127.0.0.2'), join('127.0.0.2')];
  await until('two streams', () => others.every(({ text }) => text.startsWith('HTTP/1.1 200 ')));
  const third = join('127.0.0.2');
  await until('the refusal', () => third.text.startsWith('HTTP/1.1 503 '));
  assert.equal(api.live.clients, 4);
  await api.ingest.commit([reading(1)]);
  await until('the reading', () => others.every(({ text }) => text.includes('event: readings')));
  await until('the newest of the others', () =>
    greedy.slice(2).every((client) => client.readings().length === 1),
  );
  assert.ok(greedy.slice(0, 2).every((client) => client.readings().length === 0));
});

test('when the last client has left, no timer runs and the feed is closed', async (t) => {
  const api = await startApi(t, { live: { lingerMs: 30 } });
  const clients = [await listening(t, api), await listen(t, api)];
  assert.equal(api.live.active, true);
  for (const client of clients) client.leave();
  await until('everything to be gone', () => !api.live.active && api.ingest.listeners === 0);
  assert.equal(api.live.clients, 0);
  const again = await listening(t, api);
  await api.ingest.commit([reading(9)]);
  await until('the feed to work again', () => again.readings().length === 1);
});

test('one stream receives its share of a constant feed, although many others are too slow', async (t) => {
  const api = await startApi(t, { config: { liveClients: 100 } });
  await listening(t, api);
  const join = (from: string, query = '') => {
    const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', localAddress: from });
    t.after(() => socket.destroy());
    const client = { events: 0 };
    socket.setEncoding('utf8').on('data', (part: string) => {
      client.events += part.split('event: readings').length - 1;
    });
    socket.write(`GET /v1/live${query} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return client;
  };
  const many = Array.from({ length: 90 }, () => join('127.0.0.1', '?metric=temperature'));
  await until('90 streams', () => api.live.clients === 91);
  const last = join('127.0.0.2');
  await until('the last stream', () => api.live.clients === 92);
  const readings = Array.from({ length: 100 }, (_, n) =>
    toReadingDocument(reading(n, { value: 'x'.repeat(600) })),
  );
  const flood = setInterval(() => api.ingest.offer({ id: '1', readings }), 1);
  t.after(() => clearInterval(flood));
  await until('the streams of one address', () => many.some(({ events }) => events >= 100));
  clearInterval(flood);
  const most = Math.max(...many.map(({ events }) => events));
  assert.ok(last.events >= most / 2, `${last.events} events, others ${most}`);
});
