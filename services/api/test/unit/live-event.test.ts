import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toReadingDocument } from '@tidegauge/readings';
import { LiveEvent, serialise } from '../../src/live-event.ts';
import { reading } from '../harness.ts';

const documents = ['a', 'b/x', 'b', 'b/y', 'bb'].map((device, n) =>
  toReadingDocument(
    reading(n, { device, metric: n % 2 === 0 ? 'even' : 'odd', value: `\u{4e00}"\u{1f600}\n${n}` }),
  ),
);
const event = new LiveEvent('id-1', documents.map(serialise));

test('a filter selects its readings without changing a byte', () => {
  const filters = ['a', 'b', 'b/x', 'bb', 'none', null].flatMap((device) =>
    ['even', 'odd', 'none', null].map((metric) => ({ device, metric })),
  );
  for (const filter of filters) {
    const { device, metric } = filter;
    const readings = documents.filter(
      (each) =>
        (metric === null || each.metric === metric) &&
        (device === null || each.device === device || each.device.startsWith(`${device}/`)),
    );
    const expected = `id: id-1\nevent: readings\ndata: ${JSON.stringify({ readings })}\n\n`;
    const what = JSON.stringify(filter);
    assert.equal(event.select(filter)?.toString(), readings.length === 0 ? undefined : expected, what);
  }
});

test('streams without a filter, or whose filter matches everything, share one copy', () => {
  const all = event.select({ device: null, metric: null });
  assert.equal(event.select({ device: null, metric: null }), all);
  const same = new LiveEvent('id-2', [documents[1]!, documents[2]!, documents[3]!].map(serialise));
  assert.equal(same.select({ device: 'b', metric: null }), same.select({ device: null, metric: null }));
});
