import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '@tidegauge/service';
import { parseAlertRules } from '../../src/alerts/rules-file.ts';

function mistakes(text: string): readonly string[] {
  try {
    parseAlertRules(text, 'alerts.yml');
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems;
  }
  return [];
}

test('rules have a device, a metric, limits with hysteresis, times and a severity', () => {
  const rules = parseAlertRules(
    `
- name: hot
  device: site-3/boiler
  metric: temperature
  above: 80
  clear: 75
  for: 5m
  severity: critical
- { name: tank, metric: level, above: 90, below: 10, clear: { above: 85, below: 15 } }
- { name: cold, metric: temperature, below: -5.5 }
- { name: quiet, quiet: 15m, severity: info }
`,
    'alerts.yml',
  );
  assert.deepEqual(rules, [
    {
      name: 'hot',
      severity: 'critical',
      device: 'site-3/boiler',
      metric: 'temperature',
      condition: { kind: 'range', above: 80, below: null, clearAbove: 75, clearBelow: null, holds: 300e6 },
    },
    {
      name: 'tank',
      severity: 'warning',
      device: null,
      metric: 'level',
      condition: { kind: 'range', above: 90, below: 10, clearAbove: 85, clearBelow: 15, holds: 0 },
    },
    {
      name: 'cold',
      severity: 'warning',
      device: null,
      metric: 'temperature',
      condition: { kind: 'range', above: null, below: -5.5, clearAbove: null, clearBelow: -5.5, holds: 0 },
    },
    {
      name: 'quiet',
      severity: 'info',
      device: null,
      metric: null,
      condition: { kind: 'quiet', quiet: 900e6 },
    },
  ]);
  assert.deepEqual(parseAlertRules('# none yet\n', 'alerts.yml'), []);
});

test('each mistake has file, line, column, key and what is valid', () => {
  assert.deepEqual(
    mistakes(`
- name: a b
  metric: t
  abov: 5
- { name: x, metric: t, above: .inf, severity: warn }
- { name: x, metric: t, above: 5, below: 6 }
- { name: c, metric: t, above: 5, clear: 6 }
- { name: d, metric: t, above: 5, below: 1, clear: 3 }
- { name: e, metric: t, above: 5, below: 1, clear: { above: 1, below: 4, middle: 2 } }
- { name: f, above: 5 }
- { name: g, quiet: 300, above: 5 }
- { name: h, device: /site, metric: a b, quiet: 5m }
- 7
- { name: i, metric: t, above: 5, for: 99d }
`),
    [
      'alerts.yml:2:3: [1]: a rule has above, below or quiet',
      'alerts.yml:2:9: [1].name: it must have 1 to 64 letters, digits, _ and -',
      'alerts.yml:4:3: [1].abov: abov is not a key of a rule (name, device, metric, above, below, clear, for, quiet, severity): did you mean above?',
      'alerts.yml:5:32: [2].above: it must be a finite number',
      'alerts.yml:5:48: [2].severity: "warn" is not one of info, warning, critical',
      'alerts.yml:6:11: [3].name: another rule has the name x',
      'alerts.yml:6:42: [3].below: it must be at most above (5), because values between are well',
      'alerts.yml:7:42: [4].clear: it must be at most the limit 5',
      'alerts.yml:8:52: [5].clear: with above and below it has a value for each: clear: { above: 28, below: 6 }',
      'alerts.yml:9:52: [6].clear: no value is between both, so the alert could not end',
      'alerts.yml:9:74: [6].clear.middle: the rule has no such limit: use above or below, as in the rule',
      'alerts.yml:10:3: [7]: a rule with above or below has a metric',
      'alerts.yml:11:21: [8].quiet: 300: it is not a number with a unit: it must be a duration such as 250ms, 5s, 10m, 2h or 7d, from 1 s to 31622400 s',
      'alerts.yml:11:26: [8].above: a rule with quiet cannot have it: write a second rule',
      'alerts.yml:12:22: [9].device: device segment "" must be letters, digits and _ . : @ ~ - only, and not just dots',
      'alerts.yml:12:37: [9].metric: metric "a b" must be one word of letters, digits and _ . : @ ~ -, and not just dots',
      'alerts.yml:13:3: [10]: a rule has a name, and above, below or quiet',
      'alerts.yml:14:40: [11].for: "99d": it is out of range: it must be a duration such as 250ms, 5s, 10m, 2h or 7d, from 0 s to 2592000 s',
    ],
  );
  assert.deepEqual(mistakes('rules: []'), ['alerts.yml:1:1: it must be a list of rules, each with a name']);
  const many = Array.from({ length: 201 }, (_, n) => `- { name: r${n}, quiet: 1m }`).join('\n');
  assert.deepEqual(mistakes(many), ['alerts.yml:1:1: it has 201 rules, and at most 200 are used']);
});
