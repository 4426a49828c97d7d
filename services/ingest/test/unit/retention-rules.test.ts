import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from '@tidegauge/service';
import { parseKeep, parseRules, RetentionRules, ruleOf } from '../../src/retention/rules.ts';

const DAY = 86_400e6;
const FOREVER = Number.POSITIVE_INFINITY;
const ALL = { raw: FOREVER, minute: FOREVER, hour: FOREVER, day: FOREVER };

describe('RETENTION', () => {
  test('has the age of readings in s, m, h, d, w or y', () => {
    const ages: [string, number][] = [
      ['raw:30d', 30 * DAY],
      [' raw:1w ', 7 * DAY],
      ['raw:1y', 365 * DAY],
      ['raw:90m', 90 * 60e6],
      ['raw:36h', 1.5 * DAY],
      ['raw:5s', 5e6],
      ['raw:forever', FOREVER],
    ];
    for (const [text, raw] of ages) assert.deepEqual(parseKeep(text), { ...ALL, raw }, text);
    assert.deepEqual(parseKeep('raw:30d, 1m:1y,1h:forever,1d:10y'), {
      ...ALL,
      ...{ raw: 30 * DAY, minute: 365 * DAY, day: 3650 * DAY },
    });
    assert.deepEqual(parseKeep('1m:90d'), { ...ALL, minute: 90 * DAY });
  });

  test('is refused with the part that is wrong, and how to write it', () => {
    const cases: [string, RegExp][] = [
      ['', /"" is not a level and an age: write raw:30d/],
      ['30d', /"30d" is not a level and an age: write raw:30d/],
      ['raw', /"raw" is not a level and an age/],
      ['raw:30d,raw:1y', /raw has two ages/],
      ['row:30d', /"row" is not one of raw, 1m, 1h, 1d: did you mean raw\?/],
      ['raw:30', /"30" is not an age: a whole number with s, m, h, d, w or y, or forever/],
      ['raw:0d', /"0d" is not an age/],
      ['raw:-1d', /"-1d" is not an age/],
      ['raw:1.5d', /"1.5d" is not an age/],
      ['raw:1M', /"1M" is not an age/],
      ['raw:51y', /51y is longer than 50y: write forever/],
      ['raw:30d:1', /is not a level and an age/],
      ['raw:30d,1m:1y,1m:2y', /1m has two ages/],
      ['raw:2h,1m:1y', /raw is shorter than rollups need, .*: keep raw:3h or more/],
    ];
    for (const [text, message] of cases) assert.throws(() => parseKeep(text), message, text);
  });
});

describe('a file of retention rules', () => {
  const text = `
- devices: site-3/boiler
  metrics: vibration
  keep: raw:1d
- devices: site-3
  keep: raw:7d
- metrics: [noise, hum]
  keep: raw:30d
`;

  test('has rules by device and metric, of which the first that matches counts', () => {
    const rules = new RetentionRules(parseRules(text, 'rules.yml'), { ...ALL, raw: 90 * DAY });
    const age = (device: string, metric: string) => ruleOf(rules.ofDevice(device), metric).raw / DAY;
    assert.equal(age('site-3/boiler', 'vibration'), 1);
    assert.equal(age('site-3/boiler/inner', 'vibration'), 1);
    assert.equal(age('site-3/boiler', 'noise'), 7);
    assert.equal(age('site-3', 'temperature'), 7);
    assert.equal(age('site-33', 'temperature'), 90);
    assert.equal(age('site-33', 'noise'), 30);
    assert.equal(rules.ofDevice('site-3/pump').length, 1);
    assert.equal(rules.longest, 90 * DAY);
    assert.equal(rules.isUniform, false);
    assert.equal(new RetentionRules(parseRules(text, 'rules.yml'), null).longest, FOREVER);
  });

  test('is refused when a rule would delete rollups that a rule before it keeps', () => {
    const rulesOf = (text: string) => new RetentionRules(parseRules(text, 'r.yml'), null);
    const boiler = '- devices: site-3/boiler\n  keep: 1h:2y\n';
    assert.throws(
      () => rulesOf(`${boiler}- devices: site-3\n  keep: 1h:1y`),
      /the rule site-3\/boiler keeps 1h longer than the rule site-3, which has the same series: give both the same/,
    );
    assert.ok(rulesOf(`${boiler}- devices: site-3\n  keep: 1h:3y`).hasRollups);
    assert.ok(rulesOf(`${boiler}- devices: site-3/boiler-2\n  keep: 1h:1y`).hasRollups);
    assert.throws(() => rulesOf(`${boiler}- metrics: noise\n  keep: 1h:1y`), /keeps 1h longer/);
  });

  test('is refused with file, line, column, key and reason of each mistake', () => {
    const cases: [string, RegExp][] = [
      ['', /rules.yml:1:1: it must be a list of rules, each with keep/],
      ['keep: raw:1d', /it must be a list of rules/],
      ['- raw:1d', /rules.yml:1:3: \[1\]: a rule must have keep/],
      ['- devices: site-3', /\[1\]: keep is missing/],
      ['- keep: 30', /\[1\].keep: it must be a text/],
      ['- keep: raw:soon', /rules.yml:1:9: \[1\].keep: "soon" is not an age/],
      [
        '- keep: raw:1d\n  device: a',
        /rules.yml:2:3: \[1\].device: device is not a key of a rule .*did you mean devices/,
      ],
      ['- keep: raw:1d\n  devices: a//b', /rules.yml:2:12: \[1\].devices: /],
      ['- keep: raw:1d\n  devices: [a]', /\[1\].devices: it must be a text/],
      ['- keep: raw:1d\n  metrics: []', /\[1\].metrics: it must be 1 to 1000 metrics/],
      ['- keep: raw:1d\n  metrics: [a, 3]', /\[1\].metrics\[2\]: it must be a text/],
      [
        '- keep: raw:1d\n- keep: raw:2d',
        /rules.yml:2:3: \[2\]: rule 1 matches every series, so this rule is never used/,
      ],
    ];
    for (const [file, message] of cases) {
      assert.throws(
        () => parseRules(file, 'rules.yml'),
        (error) => error instanceof ConfigError && message.test(error.message),
        `${file}: ${message}`,
      );
    }
  });
});
