import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntil } from '@tidegauge/process';
import { DecodeError, type Device, now, type Reading } from '@tidegauge/readings';
import { createLogger } from '@tidegauge/service';
import { DAMAGED, type Store, StoreError } from '@tidegauge/storage';
import { Comparison } from '../../src/relay/comparison.ts';
import { dayFigures, dayOf } from '../../src/relay/day-digest.ts';
import { encodeHeader, type RelayAnswer, readRelayAnswer } from '../../src/relay/relay-message.ts';
import { decodeRelayed, encodeRelayed } from '../../src/relay/relayed-lines.ts';
import { type CentreOptions, takeRelayed } from '../../src/relay/take-relayed.ts';
import { type RelayNode, readingsOf, relayNode, series } from '../relay-node.ts';

const WAIT = { timeoutMs: 20_000 };
/** Midnight of the day before yesterday, microseconds: the whole day is compared. */
const DAY = dayOf(now()) - 2;
const EPOCH = DAY * 86_400_000_000;

const HEADER = {
  board: 'a-board-of-the-test',
  name: 'board',
  backlogBytes: 0,
  lagSeconds: 0,
  devices: [],
  compare: null,
};
const device = (name: string, more: Partial<Device> = {}): Device => ({
  name,
  site: null,
  city: null,
  kind: null,
  year: null,
  attributes: {},
  ...more,
});

/** Sends a request as a board does. */
async function send({ url }: RelayNode, header: object = {}, lines: Buffer = Buffer.alloc(0)) {
  const response = await fetch(`${url}/v1/relay`, {
    method: 'POST',
    body: Buffer.concat([encodeHeader({ ...HEADER, ...header }), lines]),
  });
  return { status: response.status, text: await response.text() };
}

const linesOf = (...given: Parameters<typeof encodeRelayed>) => Buffer.concat([...encodeRelayed(...given)]);

test('a centre stores readings as they are, once, and answers whether a day is the same', async (context) => {
  const centre = await relayNode(context);
  await centre.open();
  const readings = series('site-3/boiler', 50, EPOCH);
  const units = [{ device: 'site-3/boiler', metric: 'temperature', unit: 'Cel' }];
  const first = readRelayAnswer((await send(centre, {}, linesOf(readings, units))).text);
  assert.deepEqual([first.stored, first.duplicate, first.centre], [50, 0, centre.boards.id]);
  const again = readRelayAnswer((await send(centre, {}, linesOf(readings, units))).text);
  assert.deepEqual([again.stored, again.duplicate], [0, 50]);
  assert.deepEqual(await readingsOf(centre.store, 'site-3/boiler'), readings);
  assert.deepEqual(await centre.store.readings.units(units), ['Cel']);
  const until = EPOCH + 49e6;
  const figures = await dayFigures(centre.store, 'site-3/boiler', DAY, until);
  assert.equal(figures.count, 49);
  for (const [change, isEqual] of [
    [{}, true],
    [{ count: 48 }, false],
    [{ digest: 'a'.repeat(64) }, false],
  ] as const) {
    const compare = { device: 'site-3/boiler', day: DAY, until, ...figures, ...change };
    const { compared } = readRelayAnswer((await send(centre, { compare })).text);
    assert.deepEqual(compared, { isEqual, count: 49 });
  }
  const [board] = centre.boards.list();
  assert.deepEqual([board?.name, board?.received, board?.stored, board?.lost], ['board', 100, 50, false]);
});

test('a key of some devices stores nothing of others, and what it may not send does not block the rest', async (context) => {
  const centre = await relayNode(context, { limit: 'site-3' });
  await centre.open();
  const lines = linesOf([...series('site-4', 3, EPOCH), ...series('site-3/a', 2, EPOCH)]);
  const devices = [device('site-3/a', { city: 'Bonn' }), device('site-30', { city: 'Bonn' })];
  const compare = { device: 'site-4', day: DAY, until: EPOCH, count: 0, digest: '' };
  const answer = readRelayAnswer((await send(centre, { devices, compare }, lines)).text);
  assert.deepEqual([answer.received, answer.stored, answer.refused], [2, 2, 5]);
  assert.deepEqual(answer.refusedDevices, ['site-30', 'site-4']);
  assert.equal(answer.compared, null);
  assert.deepEqual(await readingsOf(centre.store, 'site-4'), []);
  assert.equal((await centre.store.devices.get('site-3/a'))?.city, 'Bonn');
  assert.equal(await centre.store.devices.get('site-30'), null);
});

test('a key of some devices states no units of others, which send readings at the same time', async (context) => {
  const { store, take } = await relayNode(context);
  const unit = (device: string) => ({ device, metric: 'temperature', unit: 'K' });
  const units = ['site-3/a', 'site-4'].map(unit);
  const stated = units.map(
    ({ device, metric }) => `{"unit":"K","device":"${device}","metric":"${metric}"}\n`,
  );
  const lines = [...stated, ...encodeRelayed(series('site-3/a', 1, EPOCH))].map((line) => Buffer.from(line));
  await Promise.all([
    take({ header: HEADER, payload: Buffer.concat(lines) }, { client: 'limited', limit: 'site-3' }),
    take({ header: HEADER, payload: linesOf(series('site-4', 1, EPOCH)) }, { client: 'other', limit: null }),
  ]);
  assert.deepEqual(await store.readings.units(units), ['K', null]);
});

test('a request that is not of a board is refused, and undecodable lines are quarantined', async (context) => {
  const centre = await relayNode(context);
  await centre.open();
  for (const change of [
    { board: 'x' },
    { name: 1 },
    { lagSeconds: -1 },
    { devices: Array.from({ length: 100 }, () => device('a')) },
    { compare: { device: 'a//b', day: 0, until: 0, count: 0, digest: '' } },
    { compare: { device: 'a', day: 1e9, until: 0, count: 0, digest: '' } },
  ])
    assert.equal((await send(centre, change)).status, 400, JSON.stringify(change));
  const answer = readRelayAnswer((await send(centre, {}, Buffer.from('{"device":"a"}\n'))).text);
  assert.deepEqual([answer.received, answer.quarantined], [1, 1]);
});

test('a board sends its backlog, devices and changes in order, and the newest readings before the backlog', async (context) => {
  const centre = await relayNode(context);
  const board = await relayNode(context, { centres: [centre.url] });
  const backlog = series('a', 6000, EPOCH);
  for (let start = 0; start < backlog.length; start += 500)
    await board.commit(backlog.slice(start, start + 500));
  const corrected = { ...backlog[10]!, value: -1, received: EPOCH + 9e9 };
  await board.commit([corrected]);
  const live = series('a', 1, EPOCH + 9e9);
  await board.commit(live);
  await board.store.devices.put(device('a', { city: 'Bonn' }));
  await centre.open();
  board.relay!.start();
  const centreHas = async () =>
    (await dayFigures(centre.store, 'a', DAY, now())).digest ===
    (await dayFigures(board.store, 'a', DAY, now())).digest;
  await waitUntil('equal digests', centreHas, WAIT);
  const [first] = centre.batches;
  assert.ok(first !== undefined);
  assert.deepEqual(first.at(-1), live[0]);
  assert.ok(first.every(({ time }) => time > backlog[1000]!.time));
  assert.deepEqual((await readingsOf(centre.store, 'a'))[10], corrected);
  await waitUntil('the device', async () => (await centre.store.devices.get('a'))?.city === 'Bonn', WAIT);
  await waitUntil('an empty log', () => board.relay!.documents[0]!.backlogBytes === 0, WAIT);
  const [document] = board.relay!.documents;
  assert.equal(document!.trouble, null);
  assert.equal(document!.stored, 6002);
  assert.ok(document!.sentBytes < 20 * 6000, `${document!.sentBytes} bytes`);
});

test('readings that were dropped from the log, or changed behind it, are found by their digests and sent', async (context) => {
  const centre = await relayNode(context);
  const board = await relayNode(context, { centres: [centre.url], maxBytes: 1024 * 1024 });
  for (let start = 0; start < 12_000; start += 1000)
    await board.commit(series('a', 1000, EPOCH + start * 1e6));
  assert.ok(board.relay!.documents[0]!.lost !== null);
  await centre.open();
  board.relay!.start();
  await waitUntil('the comparison', () => board.relay!.documents[0]!.lost === null, WAIT);
  assert.deepEqual(await readingsOf(centre.store, 'a'), await readingsOf(board.store, 'a'));
  const { comparison: healed } = board.relay!.documents[0]!;
  assert.deepEqual(
    [healed?.running, healed?.days, healed?.repaired, healed?.unequal, healed?.readings],
    [false, 1, 1, 0, 12_000],
  );
  // On request, with what the centre has besides.
  await board.store.readings.write([{ ...series('b', 1, EPOCH)[0]!, value: 7 }]);
  await centre.store.readings.write(series('a', 1, EPOCH + 80_000e6));
  const asked = await fetch(`${centre.url}/relay/compare`, { method: 'POST' });
  assert.equal(asked.status, 409, 'a centre without RELAY compares nothing');
  board.relay!.compare({ from: DAY, to: DAY }, null);
  const result = () => board.relay!.documents[0]!.comparison;
  await waitUntil('the request', () => result()?.running === false && result()?.days === 2, WAIT);
  assert.deepEqual(
    result()?.differences.map(({ device, board, centre, result }) => ({ device, board, centre, result })),
    [
      { device: 'a', board: 12_000, centre: 12_001, result: 'extra' },
      { device: 'b', board: 1, centre: 0, result: 'repaired' },
    ],
  );
});

test('a day that is sent again does not undo a correction that the log sent meanwhile', async (context) => {
  const board = await relayNode(context);
  const readings = series('a', 3000, EPOCH);
  await board.store.readings.write(readings);
  const correct = async (index: number) =>
    board.store.readings.write([{ ...readings[index]!, value: -1, received: EPOCH + 9e9 }]);
  const centre = new Map<number, Reading>();
  let failures = 0;
  const comparison = new Comparison({
    store: board.store,
    days: { from: DAY, to: DAY },
    device: 'a',
    logger: createLogger('test', 'silent'),
    compare: async () => ({ compared: { isEqual: false, count: 0 } }) as RelayAnswer,
    async send(lines) {
      if (failures-- > 0) throw new Error('no answer');
      const sent = decodeRelayed(lines);
      assert.ok(!(sent instanceof DecodeError));
      for (const reading of sent) centre.set(reading.time, reading);
    },
  });
  // The day is chosen, and differs twice.
  for (let step = 0; step < 3; step++) assert.equal(await comparison.step(), true);
  failures = 1;
  await assert.rejects(comparison.step(), /no answer/);
  await correct(1);
  await comparison.step();
  assert.ok(centre.size > 1 && centre.size < 1000, `${centre.size} readings in one request`);
  await correct(999);
  while (await comparison.step());
  assert.deepEqual([...centre.values()], await readingsOf(board.store, 'a'));
  assert.equal(comparison.document.unequal, 1);
});

test('a day that differs once after it was sent again, because a correction is on its way, is repaired', async (context) => {
  const board = await relayNode(context);
  await board.store.readings.write(series('a', 1, EPOCH));
  const answers = [false, false, false, true];
  const comparison = new Comparison({
    store: board.store,
    days: { from: DAY, to: DAY },
    device: 'a',
    logger: createLogger('test', 'silent'),
    compare: async () => ({ compared: { isEqual: answers.shift()!, count: 1 } }) as RelayAnswer,
    send: async () => {},
  });
  while (await comparison.step());
  const { repaired, unequal } = comparison.document;
  assert.deepEqual([repaired, unequal], [1, 0]);
});

test('a device of which a part is damaged does not keep the comparison of others', async (context) => {
  const { store } = await relayNode(context);
  for (const name of ['a', 'b']) await store.readings.write(series(name, 1, EPOCH));
  const range: Store['readings']['range'] = (query) => {
    if (query.device === 'a') throw new StoreError('UNAVAILABLE', 'block 1', { hint: DAMAGED });
    return store.readings.range(query);
  };
  const comparison = new Comparison({
    store: { ...store, readings: { ...store.readings, range } } as Store,
    days: { from: DAY, to: DAY },
    device: null,
    logger: createLogger('test', 'silent'),
    compare: async () => ({ compared: { isEqual: true, count: 1 } }) as RelayAnswer,
    send: async () => {},
  });
  while (await comparison.step());
  const { days, skipped } = comparison.document;
  assert.deepEqual([days, skipped], [1, 1]);
});

test('a centre answers that it cannot compare a device of which a part is damaged', async (context) => {
  const { store, boards } = await relayNode(context);
  await store.readings.write(series('a', 1, EPOCH));
  const pages = () => {
    throw new StoreError('UNAVAILABLE', 'block 1', { hint: DAMAGED });
  };
  const damaged = { ...store, readings: { ...store.readings, pages } };
  const compare = { device: 'a', day: DAY, until: EPOCH + 1e9, count: 1, digest: '' };
  const { compared, refused } = await takeRelayed(
    { store: damaged, boards, beyond: () => [] } as unknown as CentreOptions,
    { header: { ...HEADER, compare }, payload: Buffer.alloc(0) },
    { client: 'board', limit: null },
  );
  assert.deepEqual([compared, refused], [null, 0]);
});

test('a chain passes readings on, and a loop is refused', async (context) => {
  const centre = await relayNode(context);
  const site = await relayNode(context, { centres: [centre.url] });
  const board = await relayNode(context, { centres: [site.url] });
  await centre.open();
  await site.open();
  site.relay!.start();
  board.relay!.start();
  const readings = series('a', 10, EPOCH);
  await board.commit(readings);
  const has = async () => (await readingsOf(centre.store, 'a')).length === 10;
  await waitUntil('the readings at the centre', has, WAIT);
  assert.deepEqual(await readingsOf(centre.store, 'a'), readings);
  assert.deepEqual(site.relay!.beyond, [centre.boards.id]);
  const isComplete = async () => {
    await board.commit(series('a', 1, EPOCH + 60e6));
    return board.relay!.beyond.length === 2;
  };
  await waitUntil('the ids of the chain', isComplete, { ...WAIT, pollMs: 1000 });
  // The centre would relay to the site, which relays to the centre.
  const { status, text } = await send(site, { board: centre.boards.id });
  assert.equal(status, 508);
  assert.match(text, /relays to board/);
  assert.equal((await send(centre, { board: centre.boards.id })).status, 508, 'itself');
});

test('a board that is lost stays known after a restart, until it is removed', async (context) => {
  const centre = await relayNode(context);
  await centre.open();
  await send(centre);
  const document = async () =>
    (await (await fetch(`${centre.url}/relay`)).json()) as {
      readonly boards: readonly { readonly id: string; readonly lost: boolean }[];
    };
  assert.deepEqual(
    (await document()).boards.map(({ id, lost }) => [id, lost]),
    [[HEADER.board, false]],
  );
  const path = `${centre.url}/v1/relay/boards/${HEADER.board}`;
  assert.equal((await fetch(path, { method: 'DELETE' })).status, 204);
  assert.equal((await fetch(path, { method: 'DELETE' })).status, 404);
  assert.deepEqual((await document()).boards, []);
});
