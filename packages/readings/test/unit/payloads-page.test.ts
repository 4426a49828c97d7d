import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { DecodeError, formats } from '@tidegauge/readings';
import { MAPPING_KEYS } from '../../src/mapping/check-mapping.ts';
import { Doubt, numberOf } from '../../src/mapping/numbers.ts';
import { VALUE_KINDS } from '../../src/mapping/options.ts';
import { statePairs } from '../../src/mapping/texts.ts';
import { RECEIVED } from './helpers.ts';

const PAGE = readFileSync(new URL('../../../../docs/payloads.md', import.meta.url), 'utf8');

/** The rows of the table below a heading, without its header. */
function rows(heading: string): string[][] {
  const table = PAGE.slice(PAGE.indexOf(`\n${heading}\n`)).match(/(?:^\|.*\n)+/m)?.[0] ?? '';
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((row) => row.slice(2, -2).split(' | '));
}

/** Metric and value of each reading, as in the second column. */
function outcome(payload: string): string {
  const context = { device: 'd', metric: 'm', received: RECEIVED };
  const decoded = formats.auto!(Buffer.from(payload), context);
  if (decoded instanceof DecodeError) return decoded.reason;
  if (decoded.length === 0) return 'nothing';
  return decoded
    .map(({ metric, value }) => (metric === 'm' ? `${value}` : `\`${metric}\` ${value}`))
    .join(', ');
}

describe('the page of payloads', () => {
  it('shows what auto makes of each payload', () => {
    const table = rows('## Without settings');
    assert.ok(table.length >= 10);
    for (const [payloads = '', text = ''] of table) {
      for (const [, payload = ''] of payloads.matchAll(/`([^`]+)`/g)) {
        assert.ok(text.startsWith(outcome(payload)), `${payload}: ${text}, but it is ${outcome(payload)}`);
      }
    }
  });

  it('shows what texts are numbers', () => {
    const table = rows('### Numbers in texts');
    assert.ok(table.length >= 10);
    for (const [texts = '', what = ''] of table) {
      for (const [, text = ''] of texts.matchAll(/`([^`]+)`/g)) {
        const found = numberOf(text, null);
        if (what.startsWith('a text in doubt')) assert.ok(found instanceof Doubt && !found.isText, text);
        else if (what.startsWith('a text'))
          assert.ok(found === null || (found instanceof Doubt && found.isText), text);
        else assert.ok(found !== null && !(found instanceof Doubt) && what.includes(`${found.value}`), text);
      }
    }
  });

  it('describes every key, kind and word of a mapping', () => {
    const names = (heading: string) => rows(heading).map(([name = '']) => name.split('`')[1]);
    assert.deepEqual(names('## Mapping').toSorted(), [...MAPPING_KEYS].toSorted());
    const kinds = names('### values').filter((kind) => !kind?.startsWith('{'));
    assert.deepEqual(kinds.toSorted(), [...VALUE_KINDS].toSorted());
    for (const pair of statePairs) assert.ok(PAGE.includes(pair.join('/')), pair.join('/'));
  });
});
