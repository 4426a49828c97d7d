import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DecodeError } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { explain } from '../../src/explain.ts';
import { Quarantine } from '../../src/quarantine.ts';
import { decodeMessage } from '../../src/raw-message.ts';
import { Router, type TopicLevels } from '../../src/routes.ts';
import { defaultRoutes } from '../../src/routes-file.ts';
import { findTopicLevels, keepTopicLevels } from '../../src/topic-levels.ts';

/** The data directory of an ingest of version 0.1.0. */
const OLD = new URL('../upgrade/data', import.meta.url).pathname;
const RECEIVED = 1_795_262_400_000_000;

async function directory(context: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tidegauge-levels-'));
  context.after(() => rm(path, { recursive: true }));
  return path;
}

/** A start of ingest, as far as the rule is concerned. */
function start(path: string, setting: TopicLevels | null = null): TopicLevels {
  const found = findTopicLevels(path, setting);
  keepTopicLevels(path, found);
  new Quarantine(join(path, 'tidegauge-ingest.quarantine.db'), 'tidegauge-ingest', 1e6).close();
  return found.used;
}

test('a new directory keeps levels, and one of an older version drops them, at each start', async (context) => {
  const path = await directory(context);
  assert.equal(findTopicLevels(join(path, 'missing'), null).used, 'keep');
  const old = join(path, 'old');
  await cp(OLD, old, { recursive: true });
  const fresh = join(path, 'fresh');
  await mkdir(fresh);
  for (let restart = 0; restart < 3; restart++) {
    assert.equal(start(old), 'drop');
    assert.equal(start(fresh), 'keep');
  }
});

test('the setting counts, and stays in force after it is removed', async (context) => {
  const path = await directory(context);
  await cp(OLD, path, { recursive: true });
  const rules: [TopicLevels | null, TopicLevels][] = [
    [null, 'drop'],
    ['keep', 'keep'],
    [null, 'keep'],
    ['drop', 'drop'],
    [null, 'drop'],
  ];
  for (const [setting, used] of rules) assert.equal(start(path, setting), used);
  assert.equal(await readFile(join(path, 'topic-levels'), 'utf8'), 'drop\n');
});

test('a file with another content is an error that the setting repairs', async (context) => {
  const path = await directory(context);
  await writeFile(join(path, 'topic-levels'), 'what');
  assert.throws(
    () => start(path),
    (error) => error instanceof ConfigError && /set TOPIC_LEVELS/.test(`${error.problems}`),
  );
  assert.equal(start(path, 'keep'), 'keep');
  assert.equal(start(path), 'keep');
});

test('an older installation starts on a disk that cannot be written', async (context) => {
  const path = await directory(context);
  const missing = join(path, 'missing');
  keepTopicLevels(missing, { used: 'drop', kept: null, isDefault: false });
  assert.throws(
    () => keepTopicLevels(missing, { used: 'keep', kept: null, isDefault: true }),
    (error) => error instanceof ConfigError && /topic-levels cannot be written/.test(`${error.problems}`),
  );
});

test('the rule holds for messages, for kept messages and for explanations', () => {
  const payload = Buffer.from('{"temperature":21.5}');
  const topic = 'sensors/kitchen/bme280';
  const message = { source: 'mqtt', topic, payload, format: 'auto', part: null } as const;
  for (const [levels, device] of [
    ['keep', 'kitchen/bme280'],
    ['drop', 'kitchen'],
  ] as const) {
    const router = new Router(defaultRoutes('durable'), { levels });
    const decoded = decodeMessage(router, message, RECEIVED);
    assert.ok(!(decoded instanceof DecodeError));
    assert.deepEqual(
      decoded.readings.map((reading) => reading.device),
      [device],
    );
    for (const other of [router, router.before(new Router(defaultRoutes('durable')).routes)])
      assert.equal(explain(other, topic, payload, RECEIVED).readings[0]?.device, device);
  }
});
