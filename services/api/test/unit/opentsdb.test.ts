import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import { FilterRoom, filterOf } from '../../src/opentsdb/filters.ts';
import { Budget } from '../../src/opentsdb/points.ts';
import { matchingDevices } from '../../src/opentsdb/tags.ts';
import { type Api, startApi } from '../harness.ts';

const NOON = Date.UTC(2026, 10, 21, 12);

/** A reading some seconds after noon. */
function at(second: number, device: string, value: number | string, metric = 'temperature'): Reading {
  const time = NOON * 1000 + second * 1e6;
  return { device, metric, time, value, received: time, boot: null, seq: null, quality: 'ok' };
}

/** Four devices with a value per minute, of which one also has texts. */
async function fill({ store }: Api): Promise<void> {
  const devices = ['site-1/boiler', 'site-1/pump', 'site-2/pump', 'attic'];
  await store.devices.register(devices);
  await store.devices.patch('site-1/boiler', { site: 'one', city: 'Faro', kind: 'boiler', year: 2019 });
  await store.devices.patch('site-1/pump', { site: 'one', city: 'Faro', kind: 'pump' });
  await store.devices.patch('site-2/pump', { site: 'two', city: 'Porto, Norte', kind: 'pump' });
  const readings = devices.flatMap((device, index) =>
    Array.from({ length: 10 }, (_, minute) => at(minute * 60, device, 10 * index + minute)),
  );
  await store.readings.write([...readings, at(30, 'attic', 'open', 'state'), at(90, 'attic', 'hot')]);
}

/** The request of Grafana 11 for a panel, as its data source sends it with the version 1 to 3. */
function grafanaQuery(queries: readonly object[], more: object = {}) {
  return { start: NOON, end: NOON + 600_000, queries, msResolution: true, globalAnnotations: true, ...more };
}

const byDevice = (filter: string, type = 'wildcard') => ({ type, tagk: 'device', filter, groupBy: true });

interface Result {
  readonly metric: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly aggregateTags: readonly string[];
  readonly dps: Readonly<Record<string, number | null>>;
  readonly query?: { readonly index: number };
  readonly annotations?: readonly Readonly<Record<string, unknown>>[];
}

async function query(api: Api, body: object, path = '/api/query'): Promise<Result[]> {
  const answer = await api.call('POST', path, { body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** Values by minutes after noon. */
function minutes({ dps }: Result): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(dps).map(([time, value]) => [(Number(time) - NOON) / 60_000, value]),
  );
}

test('Grafana finds version, aggregators, filters, metrics and tags', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const get = async (path: string) => {
    const { status, body } = await api.call('GET', path);
    assert.equal(status, 200, path);
    return body;
  };
  assert.match((await get('/api/version')).version, /^2\.4/);
  for (const name of ['sum', 'avg', 'zimsum', 'mimmin', 'mimmax', 'none', 'p99']) {
    assert.ok((await get('/api/aggregators')).includes(name), name);
  }
  assert.deepEqual(Object.keys(await get('/api/config/filters')).sort(), [
    'iliteral_or',
    'iwildcard',
    'literal_or',
    'not_iliteral_or',
    'not_literal_or',
    'regexp',
    'wildcard',
  ]);
  // The test of the data source, the names for the editor, and the queries of variables.
  assert.deepEqual(await get('/api/suggest?type=metrics&q=cpu&max=1000'), []);
  assert.deepEqual(await get('/api/suggest?type=metrics&q=&max=1000'), ['state', 'temperature']);
  assert.deepEqual(await get('/api/suggest?type=tagk&q=&max=1000'), [
    'city',
    'device',
    'kind',
    'prefix',
    'site',
    'year',
  ]);
  assert.deepEqual(await get('/api/suggest?type=tagv&q=site-1'), ['site-1', 'site-1/boiler', 'site-1/pump']);
  assert.deepEqual(await get('/api/suggest?type=tagv&q=s&max=1'), ['site-1']);
  const lookup = await get('/api/search/lookup?m=temperature%7Bdevice%3D*%7D&limit=1000');
  assert.deepEqual(
    lookup.results.map(({ tags }: Result) => tags.device),
    ['attic', 'site-1/boiler', 'site-1/pump', 'site-2/pump'],
  );
  const ofKind = await get('/api/search/lookup?m=temperature%7Bdevice%3D*,kind%3Dpump%7D&limit=1');
  assert.deepEqual(ofKind.results[0].tags, {
    device: 'site-1/pump',
    prefix: 'site-1',
    site: 'one',
    city: 'Faro',
    kind: 'pump',
  });
  assert.equal(ofKind.totalResults, 1);
  assert.equal((await get('/api/search/lookup?m=nothing&limit=1000')).results.length, 0);
  assert.deepEqual(
    (await get('/api/search/lookup?m=*%7Bdevice%3Dattic%7D')).results.map(({ metric }: Result) => metric),
    ['state', 'temperature'],
  );
});

test('a panel of Grafana has a series for each device, downsampled', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const target = { metric: 'temperature', aggregator: 'sum', downsample: '5m-avg' };
  const results = await query(
    api,
    grafanaQuery(
      [
        { ...target, filters: [byDevice('site-1/*')] },
        { ...target, tags: { device: 'attic' } },
      ],
      {
        showQuery: true,
      },
    ),
  );
  assert.deepEqual(
    results.map(({ metric, tags, query: { index } = { index: -1 } }) => [index, metric, tags.device]),
    [
      [0, 'temperature', 'site-1/boiler'],
      [0, 'temperature', 'site-1/pump'],
      [1, 'temperature', 'attic'],
    ],
  );
  assert.deepEqual(minutes(results[0]!), { 0: 2, 5: 7 });
  assert.deepEqual(minutes(results[2]!), { 0: 32, 5: 37 });
  assert.deepEqual(results[0]!.tags, {
    device: 'site-1/boiler',
    prefix: 'site-1',
    site: 'one',
    city: 'Faro',
    kind: 'boiler',
    year: '2019',
  });
});

test('the requests of the backend of Grafana: integers, no resolution, and arrays for version 4', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const body = {
    start: NOON,
    end: NOON + 120_000,
    queries: [{ metric: 'temperature', aggregator: 'avg', downsample: '1m-avg', tags: { device: 'attic' } }],
  };
  const [asMap] = await query(api, body);
  const second = NOON / 1000;
  assert.deepEqual(asMap!.dps, { [second]: 30, [second + 60]: 31, [second + 120]: 32 });
  const [asArrays] = await query(api, body, '/api/query?arrays=true');
  assert.deepEqual(asArrays!.dps, [
    [second, 30],
    [second + 60, 31],
    [second + 120, 32],
  ]);
});

test('a query in a URL has the same answer as one in a body', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const times = 'start=2026/11/21-12:00:00&end=2026/11/21-12:10:00&ms';
  const get = async (m: string) => {
    const { status, body } = await api.call('GET', `/api/query?${times}&m=${encodeURIComponent(m)}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body as Result[];
  };
  const filters = [byDevice('site-1/*'), { type: 'literal_or', tagk: 'kind', filter: 'pump' }];
  assert.deepEqual(
    await get('sum:2m-max:rate:temperature{device=wildcard(site-1/*)}{kind=pump}'),
    await query(
      api,
      grafanaQuery([{ metric: 'temperature', aggregator: 'sum', downsample: '2m-max', rate: true, filters }]),
    ),
  );
  assert.equal((await get('avg:1h-count:temperature{prefix=site-1|attic}')).length, 2);
});

test('series are grouped by tags; tags that differ are aggregated tags', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const target = { metric: 'temperature', aggregator: 'sum' };
  const all = await query(api, grafanaQuery([target]));
  assert.equal(all.length, 1);
  assert.deepEqual(all[0]!.tags, {});
  assert.deepEqual(all[0]!.aggregateTags, ['device', 'prefix', 'site', 'city', 'kind', 'year']);
  assert.equal(minutes(all[0]!)[3], 60 + 4 * 3);
  const groups = await query(api, grafanaQuery([{ ...target, tags: { site: '*' } }]));
  assert.deepEqual(
    groups.map(({ tags, aggregateTags }) => [tags.site, tags.city, aggregateTags]),
    [
      ['one', 'Faro', ['device', 'kind', 'year']],
      ['two', 'Porto, Norte', []],
    ],
  );
  const byPrefix = await query(api, grafanaQuery([{ ...target, tags: { prefix: '*' } }]));
  assert.deepEqual(
    byPrefix.map(({ tags }) => tags.prefix),
    ['attic', 'site-1', 'site-2'],
  );
  // A prefix can have several segments, and the longest one counts.
  const prefix = 'site-1|site-1/pump|site-2';
  const named = await query(api, grafanaQuery([{ ...target, tags: { prefix } }]));
  assert.deepEqual(
    named.map(({ tags }) => [tags.prefix, tags.device]),
    [
      ['site-1', 'site-1/boiler'],
      ['site-1/pump', 'site-1/pump'],
      ['site-2', 'site-2/pump'],
    ],
  );
  const none = await query(api, grafanaQuery([{ ...target, aggregator: 'none' }]));
  assert.deepEqual(
    none.map(({ tags }) => tags.device),
    ['attic', 'site-1/boiler', 'site-1/pump', 'site-2/pump'],
  );
  const explicit = [
    { type: 'wildcard', tagk: 'device', filter: '*' },
    { type: 'wildcard', tagk: 'prefix', filter: '*' },
  ];
  const only = await query(api, grafanaQuery([{ ...target, filters: explicit, explicitTags: true }]));
  assert.deepEqual(
    only.map(({ tags }) => tags.device),
    ['attic'],
  );
});

test('every type of filter selects the devices that it describes', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const cases: [tagk: string, type: string, filter: string, devices: string[]][] = [
    ['device', 'literal_or', 'attic|site-2/pump|nowhere', ['attic', 'site-2/pump']],
    ['device', 'iliteral_or', 'ATTIC', ['attic']],
    ['kind', 'not_literal_or', 'pump', ['attic', 'site-1/boiler']],
    ['kind', 'not_iliteral_or', 'PUMP|boiler', ['attic']],
    ['device', 'wildcard', '*1*p', ['site-1/pump']],
    ['device', 'wildcard', 'site-1/pump*pump', []],
    ['device', 'wildcard', 'SITE-1/*', []],
    ['device', 'iwildcard', 'SITE-1/*', ['site-1/boiler', 'site-1/pump']],
    ['device', 'regexp', '^(attic|.*boiler)$', ['attic', 'site-1/boiler']],
    ['device', 'regexp', '[12]/p', ['site-1/pump', 'site-2/pump']],
    ['city', 'literal_or', 'Porto, Norte', ['site-2/pump']],
    ['year', 'literal_or', '2019', ['site-1/boiler']],
    ['year', 'literal_or', '02019', []],
  ];
  for (const [tagk, type, filter, devices] of cases) {
    const filters = [{ type, tagk, filter, groupBy: false }];
    const found = await query(api, grafanaQuery([{ metric: 'temperature', aggregator: 'none', filters }]));
    assert.deepEqual(
      found.map(({ tags }) => tags.device),
      devices,
      `${tagk} ${type} ${filter}`,
    );
  }
});

test('a regular expression that backtracks takes linear time', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const filters = [{ type: 'regexp', tagk: 'device', filter: '^(([a-z0-9/-])+)+$X', groupBy: false }];
  const started = performance.now();
  assert.deepEqual(
    await query(api, grafanaQuery([{ metric: 'temperature', aggregator: 'sum', filters }])),
    [],
  );
  assert.ok(performance.now() - started < 5000);
});

test('a query is refused whose filters would take the time and memory of others', async (t) => {
  const api = await startApi(t);
  const cases: [filters: [type: string, filter: string][], message: RegExp][] = [
    [[['regexp', '(.?){999}'.repeat(40)]], /group .* counted repeat/],
    [[['regexp', String.raw`(a)\Q\E{9}`]], /group .* counted repeat/],
    [[['regexp', '.{0,999}x']], /more than 1000 characters/],
    [[['regexp', 'x{999,}']], /more than 1000 characters/],
    [
      [
        ['regexp', 'a'.repeat(600)],
        ['regexp', 'b'.repeat(401)],
      ],
      /more than 1000 characters/,
    ],
    [
      [
        ['literal_or', 'a|'.repeat(6000)],
        ['iliteral_or', 'b|'.repeat(4000)],
      ],
      /more than 10000 values/,
    ],
    [[['wildcard', '*a'.repeat(10_000)]], /more than 10000 values/],
  ];
  for (const [filters, message] of cases) {
    const queries = filters.map(([type, filter]) => ({
      ...{ metric: 'temperature', aggregator: 'sum' },
      filters: [byDevice(filter, type)],
    }));
    const { status, body } = await api.call('POST', '/api/query', { body: grafanaQuery(queries) });
    assert.equal(status, 400, String(message));
    assert.match(body.error.message, message);
  }
  const uuid = '[0-9a-f]{8}(-[0-9a-f]{4})(-[0-9a-f]{4})(-[0-9a-f]{4})-[0-9a-f]{12}$';
  await query(api, grafanaQuery([{ metric: 'a', aggregator: 'sum', filters: [byDevice(uuid, 'regexp')] }]));
});

test('comparing devices with filters lets other work go on, and ends when its time is over', async (t) => {
  const { store } = await startApi(t);
  const names = Array.from({ length: 10_000 }, (_, n) => `none/${n}`);
  const room = new FilterRoom();
  const filters = [filterOf({ type: 'literal_or', tagk: 'device', filter: names.join('|') }, room)];
  const nothing = filterOf({ type: 'regexp', tagk: 'device', filter: '^x' }, room);
  let turns = 0;
  const count = setInterval(() => (turns += 1), 0);
  t.after(() => clearInterval(count));
  const find = async (seconds: number) => {
    for await (const _ of matchingDevices(store, [...filters, nothing], null, new Budget(0, seconds)))
      assert.fail();
  };
  await find(60);
  assert.ok(turns > 0);
  await assert.rejects(find(0), /too long/);
});

test('downsampling fills empty intervals by the policy, and leaves the partial first one out', async (t) => {
  const api = await startApi(t);
  await api.store.devices.register(['a']);
  await api.store.readings.write([at(0, 'a', 1), at(10, 'a', 3), at(130, 'a', 'text'), at(190, 'a', 5)]);
  const run = async (downsample: string, more: object = {}) => {
    const [result] = await query(
      api,
      grafanaQuery([{ metric: 'temperature', aggregator: 'sum', downsample }], {
        end: NOON + 200_000,
        ...more,
      }),
    );
    return result === undefined ? undefined : minutes(result);
  };
  assert.deepEqual(await run('1m-avg'), { 0: 2, 3: 5 });
  assert.deepEqual(await run('1m-avg-none'), { 0: 2, 3: 5 });
  assert.deepEqual(await run('1m-sum-zero'), { 0: 4, 1: 0, 2: 0, 3: 5 });
  assert.deepEqual(await run('1m-max-null'), { 0: 3, 1: null, 2: null, 3: 5 });
  assert.deepEqual(await run('1m-count-nan'), { 0: 2, 1: 'NaN', 2: 'NaN', 3: 1 });
  assert.deepEqual(await run('1m-first'), { 0: 1, 3: 5 });
  assert.deepEqual(await run('1m-dev'), { 0: 1, 3: 0 });
  assert.deepEqual(await run('0all-sum'), { 0: 9 });
  assert.deepEqual(await run('0all-median'), { 0: 3 });
  assert.deepEqual(await run('1m-avg', { start: NOON + 1 }), { 3: 5 });
  assert.deepEqual(await run('5m-last'), { 0: 5 });
});

test('without milliseconds the values of a second become one', async (t) => {
  const api = await startApi(t);
  await api.store.devices.register(['a']);
  await api.store.readings.write([at(0, 'a', 1), at(0.25, 'a', 3), at(1.5, 'a', 5)]);
  const body = grafanaQuery([{ metric: 'temperature', aggregator: 'avg' }], { msResolution: false });
  const [seconds] = await query(api, body);
  assert.deepEqual(seconds!.dps, { [NOON / 1000]: 2, [NOON / 1000 + 1]: 5 });
  const [exact] = await query(api, { ...body, msResolution: true });
  assert.deepEqual(exact!.dps, { [NOON]: 1, [NOON + 250]: 3, [NOON + 1500]: 5 });
  const [raw] = await query(api, { ...body, queries: [{ metric: 'temperature', aggregator: 'none' }] });
  assert.deepEqual(raw!.dps, { [NOON / 1000]: 3, [NOON / 1000 + 1]: 5 });
});

test('rates are per second; a counter that begins again is handled by the options', async (t) => {
  const api = await startApi(t);
  await api.store.devices.register(['a']);
  await api.store.readings.write([at(0, 'a', 100), at(60, 'a', 160), at(120, 'a', 40), at(180, 'a', 100)]);
  const run = async (rateOptions: object, downsample?: string) => {
    const query1 = { metric: 'temperature', aggregator: 'sum', rate: true, rateOptions, downsample };
    const [result] = await query(api, grafanaQuery([query1]));
    return minutes(result!);
  };
  assert.deepEqual(await run({ counter: false }), { 1: 1, 2: -2, 3: 1 });
  assert.deepEqual(await run({ counter: true, dropResets: true }), { 1: 1, 3: 1 });
  assert.deepEqual(await run({ counter: true, counterMax: 180 }), { 1: 1, 2: 1, 3: 1 });
  assert.deepEqual(await run({ counter: true, counterMax: 1e6, resetValue: 10 }), { 1: 1, 2: 0, 3: 1 });
  // The interval before the start gives the first rate.
  const body = { metric: 'temperature', aggregator: 'sum', rate: true, downsample: '1m-avg' };
  const [later] = await query(api, grafanaQuery([body], { start: NOON + 60_000 }));
  assert.deepEqual(minutes(later!), { 1: 1, 2: -2, 3: 1 });
});

test('extreme doubles stay exact, and a sum beyond the largest one is left out', async (t) => {
  const api = await startApi(t);
  await api.store.devices.register(['a', 'b']);
  const extremes = [Number.MAX_VALUE, -Number.MAX_VALUE, 5e-324, 0.1];
  await api.store.readings.write(
    ['a', 'b'].flatMap((device) => extremes.map((value, second) => at(second, device, value))),
  );
  const [one] = await query(
    api,
    grafanaQuery([{ metric: 'temperature', aggregator: 'none', tags: { device: 'a' } }]),
  );
  assert.deepEqual(Object.values(one!.dps), extremes);
  const [sum] = await query(api, grafanaQuery([{ metric: 'temperature', aggregator: 'sum' }]));
  assert.deepEqual(Object.values(sum!.dps), [1e-323, 0.2]);
});

test('a mistake is answered in the form of OpenTSDB, with what is right', async (t) => {
  const api = await startApi(t);
  const target = { metric: 'temperature', aggregator: 'sum' };
  const cases: [body: object, message: RegExp][] = [
    [{ queries: [target] }, /start.*required/],
    [grafanaQuery([target], { start: 'yesterday' }), /Invalid start time "yesterday"/],
    [grafanaQuery([target], { start: NOON + 700_000 }), /end time must not be before the start/],
    [grafanaQuery([target], { timezone: 'Europe/Lisbon' }), /UTC/],
    [grafanaQuery([]), /queries/],
    [grafanaQuery([{ ...target, aggregator: 'mean' }]), /No such aggregation function: mean.*avg/],
    [grafanaQuery([{ ...target, metric: 'two words' }]), /queries\[0\].*one word/],
    [grafanaQuery([{ ...target, downsample: '1m' }]), /interval-function/],
    [grafanaQuery([{ ...target, downsample: '1x-avg' }]), /Invalid duration "1x"/],
    [grafanaQuery([{ ...target, downsample: '1m-none' }]), /none cannot downsample/],
    [grafanaQuery([{ ...target, downsample: '1m-avg-linear' }]), /fill policy: linear/],
    [grafanaQuery([{ ...target, downsample: '1nc-avg' }]), /calendar.*1n/],
    [grafanaQuery([{ ...target, tags: { devise: '*' } }]), /'tagk': devise: did you mean device\?/],
    [grafanaQuery([{ ...target, filters: [byDevice('x', 'glob')] }]), /of the type glob/],
    [
      grafanaQuery([{ ...target, filters: [byDevice('(', 'regexp')] }]),
      /regular expression "\(" is not valid/,
    ],
    [grafanaQuery([{ ...target, filters: [byDevice('(?<=a)b', 'regexp')] }]), /is not valid/],
    [grafanaQuery([{ ...target, filters: [byDevice('a')] }]), /asterisk/],
    [grafanaQuery([{ ...target, filters: [byDevice('|', 'literal_or')] }]), /more than just \|/],
  ];
  for (const [body, message] of cases) {
    const answer = await api.call('POST', '/api/query', { body });
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.equal(answer.body.error.code, 400);
    assert.match(answer.body.error.message, message);
  }
  for (const [path, message] of [
    ['/api/suggest?type=metric', /metrics, tagk, tagv/],
    ['/api/query?start=1h-ago&m=sum', /aggregator:metric/],
    ['/api/query?start=1h-ago&m=sum:a{device', /Missing }/],
    ['/api/query?start=1h-ago&m=sum:a{device}', /"device" is not a tag/],
    ['/api/query?start=1h-ago&m=sum:rate{up}:a', /Invalid rate options/],
    ['/api/search/lookup?m=a{b=*}', /'tagk': b/],
  ] as const) {
    const answer = await api.call('GET', path);
    assert.equal(answer.status, 400, path);
    assert.match(answer.body.error.message, message, path);
  }
  const wrongMethod = await api.call('DELETE', '/api/query');
  assert.equal(wrongMethod.status, 405);
  assert.equal(wrongMethod.body.error.code, 405);
});

test('a store that is unavailable is reported in the form of OpenTSDB', async (t) => {
  const api = await startApi(t);
  api.outage.cut = true;
  const answer = await api.call('POST', '/api/query', {
    body: grafanaQuery([{ metric: 'temperature', aggregator: 'sum', tags: { device: 'a' } }]),
  });
  assert.equal(answer.status, 503);
  assert.equal(answer.body.error.code, 503);
  assert.ok(answer.headers.get('Retry-After'));
});

test('a query with too many points or intervals is refused before it uses the memory', async (t) => {
  const api = await startApi(t);
  await api.store.devices.register(['a']);
  await api.store.readings.write([at(0, 'a', 1)]);
  const run = async (body: object, more: object) => {
    const { status, body: answer } = await api.call('POST', '/api/query', {
      body: grafanaQuery([{ metric: 'temperature', aggregator: 'sum', ...body }], more),
    });
    return [status, answer.error?.message];
  };
  const [status, message] = await run({ downsample: '1ms-avg' }, { end: NOON + 864e5 });
  assert.equal(status, 413);
  assert.match(message, /86400001 intervals of each series, more than 100000/);
  const many = Array.from({ length: 7 }, () => ({
    metric: 'temperature',
    aggregator: 'sum',
    downsample: '1s-avg-zero',
  }));
  const answer = await api.call('POST', '/api/query', {
    body: { ...grafanaQuery(many), end: NOON + 90_000_000 },
  });
  assert.equal(answer.status, 413);
  assert.match(answer.body.error.message, /more than 524288 data points/);
});

test('Grafana finds the annotations of devices and of all, with the text in their description', async (t) => {
  const api = await startApi(t);
  await fill(api);
  const texts = async (more: object, span: object = {}) => {
    const body = grafanaQuery([{ aggregator: 'sum', metric: 'annotation', ...more }], span);
    const [result] = await query(api, body);
    return result?.annotations?.map(({ description, startTime, endTime }) => [
      description,
      startTime,
      endTime,
    ]);
  };
  assert.equal(await texts({}), undefined);
  const note = async (fields: object) => {
    assert.equal((await api.call('POST', '/v1/annotations', { body: fields })).status, 201);
  };
  const minute = (number: number) => new Date(NOON + number * 60_000).toISOString();
  await note({ device: 'attic', from: minute(3), text: 'window opened' });
  await note({ from: minute(-30), to: minute(2), text: 'no power' });
  await note({ device: 'site-1/pump', from: minute(-60), text: 'before' });
  const seconds = (number: number) => NOON / 1000 + 60 * number;
  const power = ['no power', seconds(-30), seconds(2)];
  const opened = ['attic: window opened', seconds(3), 0];
  assert.deepEqual(await texts({}), [power, opened]);
  assert.deepEqual(await texts({ filters: [byDevice('attic', 'literal_or')] }), [opened]);
  assert.deepEqual(await texts({}, { start: NOON + 150_000 }), [opened]);
  assert.equal(await texts({ filters: [byDevice('site-1/*')] }), undefined);
  // Annotations are no choice of a panel.
  for (const path of ['suggest?type=metrics&q=anno', 'suggest?type=tagv&q=%40'])
    assert.deepEqual((await api.call('GET', `/api/${path}`)).body, [], path);
  const lookup = await api.call('GET', '/api/search/lookup?m=*%7Bdevice%3D*%7D&limit=1000');
  assert.equal(lookup.status, 200);
  assert.doesNotMatch(JSON.stringify(lookup.body.results), /annotation|@all/);
  const many = Array.from({ length: 1000 }, (_, n) => at(n / 10, 'attic', 'x', 'annotation'));
  await api.store.readings.write(many);
  const body = grafanaQuery([{ aggregator: 'sum', metric: 'annotation' }]);
  assert.equal((await api.call('POST', '/api/query', { body })).status, 413);
});
