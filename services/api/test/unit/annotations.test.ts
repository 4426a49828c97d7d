import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unknownDevice } from '@tidegauge/readings';
import { type Api, reading, startApi } from '../harness.ts';

const DAY = '2026-11-21T';

interface Note {
  readonly device?: string;
  readonly from: string;
  readonly to?: string;
  readonly text: string;
}

/** Adds an annotation, and registers its device before. */
async function add(api: Api, note: Note): Promise<{ id: string; from: string }> {
  if (note.device !== undefined) await api.store.devices.register([note.device]);
  const { status, body } = await api.call('POST', '/v1/annotations', { body: note });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

/** The texts of all annotations of a query, read in pages. */
async function texts(api: Api, query: string, limit = 100): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const { status, body } = await api.call('GET', `/v1/annotations?${query}&limit=${limit}${more}`);
    assert.equal(status, 200, JSON.stringify(body));
    for (const { text } of body.annotations) found.push(text);
    cursor = body.next;
  }
  return found;
}

test('an annotation is stored as a reading of its device, corrected and deleted', async (t) => {
  const api = await startApi(t);
  const note = {
    device: 'site-3/boiler',
    from: `${DAY}14:00:00Z`,
    to: `${DAY}15:00:00Z`,
    text: 'sérviced "a"',
  };
  const { id } = await add(api, note);
  const stored = await api.call('GET', '/v1/readings?device=site-3/boiler&metric=annotation');
  assert.deepEqual(
    stored.body.readings.map(({ time, value }: Record<string, string>) => [time, value]),
    [[`${DAY}14:00:00.000000Z`, JSON.stringify({ text: note.text, to: `${DAY}15:00:00.000000Z` })]],
  );
  const exported = await api.call('GET', '/v1/export');
  assert.match(exported.body, /"metric":"annotation".*\n\{"complete":true,"rows":1\}/);
  const list = async () => (await api.call('GET', '/v1/annotations?device=site-3/boiler')).body.annotations;
  const shown = {
    id,
    device: 'site-3/boiler',
    from: `${DAY}14:00:00.000000Z`,
    to: `${DAY}15:00:00.000000Z`,
    text: note.text,
    by: null,
  };
  assert.deepEqual(await list(), [shown]);
  const changed = await api.call('PUT', `/v1/annotations/${id}`, { body: { text: 'replaced' } });
  assert.deepEqual([changed.status, changed.body], [200, { ...shown, text: 'replaced', to: null }]);
  assert.deepEqual(await list(), [changed.body]);
  assert.equal((await api.call('DELETE', `/v1/annotations/${id}`)).status, 204);
  assert.deepEqual(await list(), []);
  for (const name of [id, 'x', Buffer.from('9999999999999999 a').toString('base64url')]) {
    const path = `/v1/annotations/${name}`;
    const corrected = await api.call('PUT', path, { body: { text: 'x' } });
    assert.equal(corrected.status, 404, name);
    assert.equal((await api.call('DELETE', path)).status, 404, name);
  }
});

test('annotations of a time and of a span are listed for the ranges that they concern', async (t) => {
  const api = await startApi(t);
  await add(api, { device: 'a', from: `${DAY}10:00:00Z`, text: 'point' });
  await add(api, { device: 'a', from: `${DAY}08:00:00Z`, to: `${DAY}12:00:00Z`, text: 'span' });
  const at = (from: string, to: string) => texts(api, `device=a&from=${DAY}${from}:00Z&to=${DAY}${to}:00Z`);
  assert.deepEqual(await at('09:00', '11:00'), ['point', 'span']);
  assert.deepEqual(await at('10:00', '10:01'), ['point', 'span']);
  assert.deepEqual(await at('10:01', '11:00'), ['span']);
  assert.deepEqual(await at('09:00', '10:00'), ['span']);
  assert.deepEqual(await at('07:00', '08:00'), []);
  assert.deepEqual(await at('12:00', '13:00'), []);
  assert.deepEqual(await texts(api, 'device=a'), ['point', 'span']);
});

test('a device has the annotations of the levels above it and of all devices, on pages of every size', async (t) => {
  const api = await startApi(t);
  const devices = [undefined, 'site-3', 'site-3/boiler', 'site-3/boiler/probe', 'site-30', 'site-3/pump'];
  for (const device of devices) {
    for (const minute of ['00', '01', '02']) {
      const place = device === undefined ? {} : { device };
      await add(api, { ...place, from: `${DAY}10:${minute}:00Z`, text: `${minute} ${device}` });
    }
  }
  // A text of a sensor is an annotation too, and a number is not.
  const time = Date.UTC(2026, 10, 21, 10, 3) * 1000;
  const series = { device: 'site-3/boiler', metric: 'annotation' };
  await api.store.readings.write([reading(0, { ...series, time, value: 'by MQTT' })]);
  await api.store.readings.write([reading(1, { ...series, value: 5 })]);
  const expected = ['by MQTT'];
  for (const minute of ['02', '01', '00']) {
    for (const device of [undefined, 'site-3', 'site-3/boiler']) expected.push(`${minute} ${device}`);
  }
  for (const limit of [1, 2, 3, 4, 100])
    assert.deepEqual(await texts(api, 'device=site-3/boiler', limit), expected);
  assert.deepEqual(await texts(api, '', 2), ['02 undefined', '01 undefined', '00 undefined']);
  const first = await api.call('GET', '/v1/annotations?device=site-3&limit=1');
  const other = await api.call('GET', `/v1/annotations?device=site-30&limit=1&cursor=${first.body.next}`);
  assert.equal(other.status, 400);
});

test('several devices have their annotations in one list, each once', async (t) => {
  const api = await startApi(t);
  const devices = [undefined, 'site-3', 'site-3/boiler', 'site-3/pump', 'site-4'];
  for (const [minute, device] of devices.entries()) {
    const place = device === undefined ? {} : { device };
    await add(api, { ...place, from: `${DAY}10:0${minute}:00Z`, text: String(device) });
  }
  for (const limit of [1, 100]) {
    const found = await texts(api, 'device=site-3/pump&device=site-3/boiler&device=site-3', limit);
    assert.deepEqual(found, ['site-3/pump', 'site-3/boiler', 'site-3', 'undefined']);
  }
});

test('an equal annotation is stored once, and others at the same time stay', async (t) => {
  const api = await startApi(t);
  const note = { device: 'a', from: `${DAY}10:00:00Z`, text: 'same' };
  const made = await Promise.all([
    add(api, note),
    add(api, { ...note, text: 'other' }),
    add(api, note),
    add(api, { ...note, to: `${DAY}11:00:00Z` }),
  ]);
  assert.equal(new Set(made.map(({ id }) => id)).size, 3);
  assert.deepEqual((await texts(api, 'device=a')).sort(), ['other', 'same', 'same']);
  assert.deepEqual(
    made.map(({ from }) => from.slice(0, 23)),
    Array(4).fill(`${DAY}10:00:00.000`),
  );
});

test('annotations are not among the newest readings, unless they are named', async (t) => {
  const api = await startApi(t);
  await api.store.readings.write([reading(1, { device: 'a' })]);
  await add(api, { device: 'a', from: `${DAY}10:00:00Z`, text: 'x' });
  const metrics = async (query: string) => {
    const { body } = await api.call('GET', `/v1/readings/latest?${query}`);
    return body.readings.map(({ metric }: { metric: string }) => metric);
  };
  assert.deepEqual(await metrics('device=a'), ['temperature']);
  assert.deepEqual(await metrics(''), ['temperature']);
  assert.deepEqual(await metrics('metric=annotation&metric=temperature'), ['annotation', 'temperature']);
});

test('a device that is not registered is refused, and annotations of all devices are exported', async (t) => {
  const api = await startApi(t);
  await api.store.devices.put({ ...unknownDevice('site-3/boiler'), city: 'Faro' });
  const body = { device: 'site-3/boyler', from: `${DAY}10:00:00Z`, text: 'x' };
  const refused = await api.call('POST', '/v1/annotations', { body });
  assert.deepEqual([refused.status, refused.body.detail], [404, 'There is no device site-3/boyler.']);
  await add(api, { from: `${DAY}10:00:00Z`, text: 'for all' });
  assert.match((await api.call('GET', '/v1/export')).body, /^\{"device":"@all",.*for all/);
  const { body: list } = await api.call('GET', '/v1/devices');
  assert.deepEqual(
    list.devices.map(({ name }: { name: string }) => name),
    ['@all', 'site-3/boiler'],
  );
});

test('what cannot be an annotation is refused with its place', async (t) => {
  const api = await startApi(t);
  const note = { device: 'a', from: `${DAY}10:00:00Z`, text: 'x' };
  for (const [body, path] of [
    [{ ...note, to: note.from }, '/body/to'],
    [{ ...note, to: 'soon' }, '/body/to'],
    [{ ...note, from: undefined }, '/body/from'],
    [{ ...note, device: 'a//b' }, '/body/device'],
    [{ ...note, text: '' }, '/body/text'],
    [{ ...note, text: 'x'.repeat(2001) }, '/body/text'],
    [{ ...note, text: '\u0001'.repeat(1000) }, '/body/text'],
    [{ ...note, more: 1 }, '/body/more'],
  ] as const) {
    const { status, body: problem } = await api.call('POST', '/v1/annotations', { body });
    assert.equal(status, 400, JSON.stringify(body).slice(0, 200));
    assert.equal(problem.errors[0].path, path);
  }
  assert.deepEqual(await texts(api, 'device=a'), []);
});
