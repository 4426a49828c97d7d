import assert from 'node:assert/strict';
import { test } from 'node:test';
import { project, sideLabels, sitesOf } from '../../public/map.js';

const at = (site: string, lat: unknown, lon: unknown, seen = 0) => ({
  name: `${site}/probe`,
  site,
  attributes: { lat, lon },
  seen,
});

test('sensors at one position are one site, with the time of the latest report', () => {
  const sites = sitesOf([at('a', 38.7, -9.1, 5), at('a', 38.7, -9.1, 9), at('b', '41.15', '-8.6')], 10);
  assert.deepEqual(
    sites.map(({ site, count, seen }) => ({ site, count, seen })),
    [
      { site: 'a', count: 2, seen: 9 },
      { site: 'b', count: 1, seen: 0 },
    ],
  );
});

test('values that are not a position on Earth are left out', () => {
  const odd = [
    at('a', 91, 0),
    at('b', 0, 181),
    at('c', 'north', ''),
    at('d', null, null),
    at('e', Number.NaN, 0),
  ];
  assert.deepEqual(sitesOf([...odd, { name: 'f', site: 'f', attributes: {}, seen: 0 }], 10), []);
});

test('every place is on the drawing, north up and east right, and a single place in its middle', () => {
  const { height, places } = project([
    { lat: 38.7, lon: -9.1 },
    { lat: 41.15, lon: -8.6 },
  ]);
  const [lisbon, porto] = places;
  assert.ok(porto!.y < lisbon!.y && porto!.x > lisbon!.x);
  for (const { x, y } of places) assert.ok(x >= 0 && x <= 100 && y >= 0 && y <= height);
  const alone = project([{ lat: 70, lon: 25 }]);
  assert.deepEqual([alone.places[0]!.x, alone.places[0]!.y], [50, alone.height / 2]);
});

test('labels do not cover each other or a mark, and a label that does not fit is left out', () => {
  const place = (site: string, x: number, y: number) => ({ site, x, y });
  const sides = (places: ReturnType<typeof place>[]) =>
    sideLabels(places).map((labelled: { side: string | null }) => labelled.side);
  assert.deepEqual(sides([place('west', 20, 10), place('east', 80, 10)]), ['right', 'left']);
  // Two marks side by side: each label is on the free side.
  assert.deepEqual(sides([place('site-1', 48, 10), place('site-3', 53, 10)]), ['left', 'right']);
  assert.deepEqual(sides([place('a', 45, 10), place('b', 50, 10), place('c', 55, 10)]), [
    'left',
    null,
    'right',
  ]);
  assert.deepEqual(sides([place('one', 50, 10), place('two', 50, 20)]), ['right', 'right']);
});
