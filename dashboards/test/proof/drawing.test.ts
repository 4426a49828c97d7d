import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { type BuiltPanel, heat, lines, number } from '../../src/panels.ts';
import { tableOf } from '../../src/tables.ts';
import { drawingFaults, drawingPage, drawModels } from '../drawing.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;
const found = await startOrSkip('grafana-libraries', drawingPage);
const skip = 'skip' in found ? found.skip : false;

const series = (metric: object, value = 1) => ({
  metric,
  values: Array.from({ length: 60 }, (_, second) => [NOON / 1000 + second, String(value)]),
});

const answer = (legendFormat: string, ...result: object[]) => ({ refId: 'A', legendFormat, step: 1, result });

/** A panel in a place of the grid, with the answer to its query. */
function placed(panel: BuiltPanel, y: number, w: number, ...answers: object[]) {
  const built = panel.build();
  return { panel: { ...built, id: y + 1, gridPos: { x: 0, y, w, h: built.gridPos!.h } }, answers };
}

const spec = (title: string) => ({ title, description: 'Of a test.', unit: 'short', queries: { a: 'up' } });
const WORDS = { 0: 'down', 1: 'up' };
/** A scale of words that Grafana fills with numbers, as without `decimals`. */
function withFractions(panel: BuiltPanel): BuiltPanel {
  const { fieldConfig, ...built } = panel.build();
  const { decimals: _, ...defaults } = fieldConfig!.defaults;
  return { build: () => ({ ...built, fieldConfig: { ...fieldConfig!, defaults } }) };
}

/** A table in half of a page, with a row for one device. */
function tableWith(title: string, columns: number, y: number) {
  const titles = Array.from({ length: columns }, (_, index) => `Column ${index}`);
  const panel = tableOf({
    title,
    description: 'Of a test.',
    label: 'device',
    heading: 'Device',
    link: '/d/x',
    whenEmpty: 'No device',
    columns: Object.fromEntries(titles.map((each) => [each, { expr: 'up', unit: 'short' }])),
  });
  const result = [{ metric: { device: 'a' }, value: [NOON / 1000, '1'] }];
  const answers = titles.map((_, index) => ({
    refId: String.fromCharCode(65 + index),
    format: 'table',
    result,
  }));
  return placed(panel, y, 12, ...answers);
}

const GOOD = [
  placed(lines(spec('Lines')), 0, 12, answer('{{a}}', series({ a: 'b' }), series({ a: 'c' }, 2))),
  placed(number({ ...spec('Number'), words: WORDS }), 8, 8, answer('a', series({ a: 'b' }))),
  tableWith('Table', 2, 24),
  placed(heat(spec('Heat')), 16, 8, answer('{{le}}', series({ le: '0.5' }), series({ le: '+Inf' }, 2))),
];

/** Each has one fault on a wide page. */
const BAD: Readonly<Record<string, ReturnType<typeof placed>>> = {
  'has no data': placed(lines(spec('No answer')), 0, 8, answer('a')),
  'cut at the side': placed(number(spec('A title that does not fit')), 8, 3, answer('a', series({}))),
  'a series is named "Value"': placed(lines(spec('No name')), 16, 8, answer('{{b}}', series({}))),
  'axis mixes': placed(
    withFractions(lines({ ...spec('Words'), words: { 0: 'no', 1: 'yes' } })),
    24,
    8,
    answer('a', series({})),
  ),
  shows: tableWith('Wide table', 12, 32),
};

test('what cannot be read in a panel is found, and nothing in panels that can be read', {
  skip,
}, async () => {
  const model = (uid: string, panels: readonly ReturnType<typeof placed>[]) => ({
    state: 'examples',
    uid,
    panels,
    from: NOON,
    to: NOON + MINUTE,
  });
  const panels = await drawModels([model('good', GOOD), model('bad', Object.values(BAD))]);
  const wide = panels.filter(({ width }) => width > 1000);
  const of = (uid: string) => drawingFaults(wide.filter(({ dashboard }) => dashboard === uid));
  assert.deepEqual(of('good'), []);
  for (const [fault, { panel }] of Object.entries(BAD))
    assert.ok(
      of('bad').some((text) => text.includes(`${panel.title}: ${fault}`)),
      `${fault}: ${of('bad').join('\n')}`,
    );
});
