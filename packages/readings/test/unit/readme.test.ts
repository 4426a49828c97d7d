import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { compileTopicTemplate, DecodeError, formats, formatTime } from '@tidegauge/readings';
import { RECEIVED } from './helpers.ts';

interface Example {
  readonly topic: string;
  readonly payload: string;
  readonly outcome: string[];
}

/** Reads the indented lines of the README: `topic payload`, then one line per resulting reading or error. */
function examples(): Example[] {
  const found: Example[] = [];
  for (const [, line] of readFileSync(new URL('../../README.md', import.meta.url), 'utf8').matchAll(
    /^ {4}(.+)$/gm,
  )) {
    if (/^[→✗] /u.test(line!)) found.at(-1)!.outcome.push(line!);
    else {
      const [topic = '', ...payload] = line!.split(' ');
      found.push({ topic, payload: payload.join(' '), outcome: [] });
    }
  }
  return found;
}

/** The results of a message, in the format of the README. */
function outcome({ topic, payload }: Example): string[] {
  const names = compileTopicTemplate('sensors/{device+}/{metric}').match(topic);
  assert.ok(names !== null && !(names instanceof DecodeError));
  const decoded = formats.auto!(Buffer.from(payload), { ...names, received: RECEIVED });
  if (decoded instanceof DecodeError) return [`✗ ${decoded.reason}: ${decoded}`];
  if (decoded.length === 0) return ['→ nothing'];
  return decoded.map(({ device, metric, value, time }) => {
    const at = time === RECEIVED ? '' : ` at ${formatTime(time)}`;
    return `→ ${device} ${metric} ${JSON.stringify(value)}${at}`;
  });
}

describe('an example of the README', () => {
  const all = examples();

  it('is present for the formats', () => {
    assert.ok(all.length >= 10);
  });

  for (const example of all) {
    it(`is correct for ${example.payload}`, () => {
      assert.deepEqual(outcome(example), example.outcome);
    });
  }
});
