import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { explain } from '../../src/explain.ts';
import { fixOf, proposalsFor, suggestedTopic, triedFix } from '../../src/fixes.ts';
import { Quarantine } from '../../src/quarantine.ts';
import { causesOf } from '../../src/quarantine-causes.ts';
import type { QuarantineEntry } from '../../src/quarantine-rows.ts';
import { Router } from '../../src/routes.ts';
import { parseRoutes } from '../../src/routes-file.ts';

const MIB = 1024 * 1024;

function entry(topic: string, more: Partial<QuarantineEntry> = {}): QuarantineEntry {
  return {
    source: 'mqtt',
    topic,
    payload: Buffer.from('{"state":"ON"}'),
    format: 'auto',
    part: null,
    received: Date.UTC(2026, 10, 21) * 1000,
    reason: 'unknown_topic',
    detail: `topic "${topic}" matches no route`,
    position: null,
    readings: 1,
    ...more,
  };
}

async function setUp(context: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-causes-'));
  const quarantine = new Quarantine(join(directory, 'q.db'), 'i', 64 * MIB);
  context.after(async () => {
    quarantine.close();
    await rm(directory, { recursive: true });
  });
  const { routes } = parseRoutes('- topic: plant/{device}/{metric}\n', 'routes.yml', 'durable');
  return { quarantine, causes: () => causesOf(quarantine, new Router(routes), 'i') };
}

test('messages in quarantine are grouped by reason, topics and fix, the most frequent first', async (context) => {
  const { quarantine, causes } = await setUp(context);
  quarantine.add([
    entry('zigbee2mqtt/lamp'),
    entry('weather/roof/wind'),
    ...Array.from({ length: 700 }, (_, n) => entry(`weather/mast-${n}/wind`)),
    entry('plant/pump/mode', { reason: 'malformed', detail: 'a word' }),
    entry('plant/fan/mode', { reason: 'malformed', detail: 'another word' }),
    entry('POST /readings?device=a', { source: 'http', reason: 'malformed', detail: 'no number' }),
  ]);
  const found = await causes();
  assert.deepEqual(
    found.causes.map(({ reason, route, topic, count, proposals }) => ({
      reason,
      route,
      topic,
      count,
      proposals,
    })),
    [
      {
        reason: 'unknown_topic',
        route: null,
        topic: 'weather/{device+}/{metric}',
        count: 701,
        proposals: [{ topic: 'weather/{device+}' }],
      },
      { reason: 'malformed', route: 'default', topic: 'plant/{device}/{metric}', count: 2, proposals: [] },
      { reason: 'malformed', route: null, topic: 'POST /readings', count: 1, proposals: [] },
      {
        reason: 'unknown_topic',
        route: null,
        topic: 'zigbee2mqtt/{device}',
        count: 1,
        proposals: [{ preset: 'zigbee2mqtt' }, { topic: 'zigbee2mqtt/{device}' }],
      },
    ],
  );
  assert.equal(found.causes[1]?.last.detail, 'another word', 'the newest');
  assert.equal(found.causes[2]?.fix, null, 'no setting of a route changes a message from HTTP');
  assert.deepEqual([found.messages, found.total, found.unlisted], [705, 705, 0]);
});

test('the list of causes is bounded, and has the number of messages that are not in it', async (context) => {
  const { quarantine, causes } = await setUp(context);
  for (let part = 0; part < 5; part++) {
    const topics = Array.from({ length: 2200 }, (_, n) => `tenant-${part}-${n}/${'x'.repeat(900)}/{device}`);
    quarantine.add(topics.map((topic) => entry(topic)));
  }
  const found = await causes();
  assert.deepEqual([found.messages, found.total, found.causes.length], [10_000, 11_000, 200]);
  assert.equal(found.unlisted, 9800);
  const bytes = Buffer.byteLength(JSON.stringify(found));
  assert.ok(bytes < 512 * 1024, `${bytes} bytes`);
});

test('a route that is proposed for values with names keeps all levels of the topic', async (context) => {
  const { quarantine } = await setUp(context);
  const airGradient = Buffer.from('{"serialno":"84fce6","rco2":447,"atmp":25.6}');
  const senders: [string, Uint8Array][] = [
    ['airgradient/readings/84fce6', airGradient],
    ['airgradient/readings/99abcd', airGradient],
  ];
  for (const levels of ['keep', 'drop'] as const) {
    const found = new Set<string>();
    for (const [topic, payload] of senders) {
      const message = { topic, payload, received: 1_795_262_400_000_000 };
      const other = new Router(parseRoutes('- topic: plant/{device}', 'r', 'durable').routes, { levels });
      assert.deepEqual(proposalsFor(message, other), [{ topic: 'airgradient/{device+}' }]);
      assert.match(triedFix({ reason: 'unknown_topic', message: '' }, message, other) ?? '', /{device\+}$/);
      for (const template of ['airgradient/{device+}', suggestedTopic(topic)!]) {
        const text = JSON.stringify([{ topic: template }]);
        const router = new Router(parseRoutes(text, 'routes.yml', 'durable').routes, { levels });
        const [reading] = explain(router, topic, payload, 1_795_262_400_000_000).readings;
        if (levels === 'keep' || template.endsWith('{device+}')) found.add(reading!.device);
      }
    }
    assert.deepEqual([...found], ['readings/84fce6', 'readings/99abcd']);
    quarantine.add(senders.map(([topic, payload]) => entry(topic, { payload })));
    const router = new Router(parseRoutes('- topic: plant/{device}', 'r.yml', 'durable').routes, { levels });
    const { causes } = await causesOf(quarantine, router, 'i');
    assert.deepEqual(causes[0]?.proposals, [{ topic: 'airgradient/{device+}' }]);
  }
  for (const payload of ['21.5', '{"v":21.5}', '{"v":1,"rssi":2}', 'unavailable', '{'])
    assert.equal(suggestedTopic('a/b/c', Buffer.from(payload)), 'a/{device+}/{metric}', payload);
});

test('a proposed topic takes the topic that it is proposed for, whatever its characters', () => {
  for (const topic of [
    'a',
    'a/b',
    'a/b/c',
    'Living Room/Lamp 1/x',
    'a b/{x}/y',
    '/a/b',
    'é/1',
    '{device}/x/y',
  ]) {
    const template = suggestedTopic(topic);
    assert.notEqual(template, null, topic);
    const { routes } = parseRoutes(JSON.stringify([{ topic: template }]), 'routes.yml', 'durable');
    assert.equal(new Router(routes).resolve(topic).error, null, `${topic} ${template}`);
  }
  for (const topic of ['', '/', '$share/a', `${'x'.repeat(600)}`, 'a/b/', 'a\0/b', '..'])
    assert.doesNotThrow(
      () => proposalsFor({ topic, payload: Buffer.from('1'), received: 0 }, new Router([])),
      topic,
    );
  assert.equal(fixOf({ reason: 'no_birth', message: '' }), null);
  assert.equal(fixOf({ reason: 'too_large', message: 'gzip: it has more bytes after decompression' }), null);
});
