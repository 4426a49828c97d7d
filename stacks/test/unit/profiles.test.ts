import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CONFIG } from '@tidegauge/dashboards/config';
import { bytesOf, PROFILES, ROOT, readVariables, STORES, variablesOf } from '../stack-files.ts';

const FILES = [
  'docker-stack.yml',
  ...STORES.map((store) => `stacks/${store}.yml`),
  'stacks/monitoring.yml',
  ...globSync('stacks/monitoring/*.yml', { cwd: ROOT }),
  'stacks/backup.yml',
  ...globSync('stacks/backup/*.yml', { cwd: ROOT }),
];

test('every profile sets the same variables', () => {
  const [first, ...others] = PROFILES.map((name) =>
    Object.keys(readVariables(`stacks/profiles/${name}.env`)),
  );
  for (const other of others) assert.deepEqual(other.toSorted(), first!.toSorted());
});

test('no limit is lower in the profile of a larger board', () => {
  const profiles = PROFILES.map((name) => readVariables(`stacks/profiles/${name}.env`));
  const units: Record<string, number> = {
    '': 1,
    K: 2 ** 10,
    M: 2 ** 20,
    MB: 2 ** 20,
    G: 2 ** 30,
    GB: 2 ** 30,
  };
  for (const name of Object.keys(profiles[0]!).filter((key) => /_(MEMORY|RESERVED)$/.test(key))) {
    if (name === 'TIDEGAUGE_BOARD_MEMORY') continue;
    const sizes = profiles.map((profile) => {
      const [, number, unit] = /^(\d+)([A-Z]*)$/.exec(profile[name]!) ?? [];
      return Number(number) * units[unit!]!;
    });
    assert.deepEqual(
      sizes.toSorted((a, b) => a - b),
      sizes,
      name,
    );
  }
});

test('every variable of the stack files is set, and every variable that is set is used', () => {
  const set = new Set(Object.keys(variablesOf('1gb')));
  const used = new Set<string>();
  for (const file of FILES) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const [, name, preset] of text.matchAll(/(?<!\$)\$\{(\w+)(:-)?/g)) {
      used.add(name!);
      assert.ok(set.has(name!) || preset !== undefined, `${file} takes ${name}, which no file sets`);
    }
  }
  // Scripts and image builds use some of them. TIDEGAUGE_BOARD_MEMORY only names the profile.
  const others = globSync('stacks/{bin,images,mongodb}/**/*', { cwd: ROOT }).filter(
    (path) => statSync(join(ROOT, path)).isFile() && !path.endsWith('.sha256'),
  );
  const text = others.map((path) => readFileSync(join(ROOT, path), 'utf8')).join('\n');
  for (const name of set) if (text.includes(name)) used.add(name);
  assert.deepEqual(
    [...set].filter((name) => !used.has(name) && name !== 'TIDEGAUGE_BOARD_MEMORY'),
    [],
  );
});

test('the limit of the broker’s queue is above the threshold of its alert', () => {
  for (const profile of PROFILES) {
    const queued = Number(variablesOf(profile).MOSQUITTO_QUEUED_MESSAGES);
    assert.ok(queued >= 2 * CONFIG.thresholds.brokerQueuedMessages, `${profile}: ${queued}`);
  }
});

test('the broker’s memory holds two full queues', () => {
  // Measured: 10 MB without messages, and 383 bytes for each message in addition to its payload.
  for (const profile of PROFILES) {
    const {
      MOSQUITTO_QUEUED_MESSAGES: messages,
      MOSQUITTO_QUEUED_BYTES: bytes,
      ...rest
    } = variablesOf(profile);
    const full = 10e6 + 2 * (Number(messages) * 383 + Number(bytes));
    assert.ok(full <= bytesOf(rest.MOSQUITTO_MEMORY!), `${profile}: ${full} bytes`);
  }
});

test('the override for one board has a file for every secret of every store', () => {
  const override = readFileSync(join(ROOT, 'stacks/compose.yml'), 'utf8');
  for (const file of FILES) {
    for (const [, name] of readFileSync(join(ROOT, file), 'utf8').matchAll(
      /^ {2}(tidegauge_\w+): \{ external/gm,
    )) {
      assert.ok(override.includes(`/${name}' }`), `${file}: ${name} is not in stacks/compose.yml`);
    }
  }
});

test('the message for a missing variable has no hyphen, because docker would read a default value after it', () => {
  for (const file of FILES) {
    for (const [, text] of readFileSync(join(ROOT, file), 'utf8').matchAll(/\$\{\w+\?([^}]*)\}/g)) {
      assert.ok(!text!.includes('-') && !text!.includes('$'), `${file}: ${text}`);
    }
  }
});
