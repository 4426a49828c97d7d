import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AlertBook, type AlertFilter } from '../../src/alerts/book.ts';
import { parseAlertRules } from '../../src/alerts/rules-file.ts';
import { Watch } from '../../src/alerts/watch.ts';

const [RULE] = parseAlertRules('- { name: hot, metric: t, above: 30 }', 'alerts.yml');
const EVERY: AlertFilter = { state: null, rule: null, severity: null, isListed: () => true };

/** Raises an alert of a device at a time, and returns its watch. */
function raise(book: AlertBook, device: string, time: number): Watch {
  const watch = new Watch(RULE!, device, 't', { newest: time });
  watch.kind = 'above';
  watch.since = time;
  watch.alert = book.raise(watch, 31, time)?.id ?? null;
  return watch;
}

test('a client with many alerts leaves room in the list for those of others', () => {
  const book = new AlertBook();
  const greedy = Array.from({ length: 12_000 }, (_, n) => raise(book, `greedy/${n}`, n));
  assert.deepEqual([book.active, book.unlisted], [5000, 7000]);
  assert.notEqual(raise(book, 'honest/a', 1).alert, null);
  // What ends gives its place back, and one that is not listed takes none.
  for (const watch of greedy) book.end(watch, 'cleared', 20_000);
  assert.deepEqual([book.active, book.unlisted], [1, 0]);
  for (let n = 0; n < 5000; n++) raise(book, `greedy/${n}`, n);
  assert.equal(book.active, 5000);
  book.clear();
  for (let n = 0; n < 5000; n++) raise(book, `greedy/${n}`, n);
  assert.equal(book.active, 5000);
});

test('kept alerts take their places again', () => {
  const [before, book] = [new AlertBook(), new AlertBook()];
  for (let n = 0; n < 4000; n++) raise(before, `greedy/${n}`, n);
  book.restore([...before.all()], 5000, () => true);
  for (let n = 4000; n < 6000; n++) raise(book, `greedy/${n}`, n);
  assert.deepEqual([book.active, book.unlisted], [5000, 1000]);
});

test('a client whose alerts end all the time keeps the ended ones of others', () => {
  const book = new AlertBook();
  book.end(raise(book, 'honest/a', 1), 'cleared', 2);
  for (let n = 0; n < 1000; n++) {
    book.end(raise(book, 'greedy/flaps', 10 + n), 'cleared', 11 + n);
    const removed = book.trim();
    assert.deepEqual(
      removed.map(({ device }) => device),
      n < 500 - 1 ? [] : ['greedy/flaps'],
    );
  }
  const { alerts } = book.list(1000, null, { ...EVERY, state: 'ended' });
  assert.equal(alerts.length, 500);
  assert.deepEqual([alerts[0]!.since, alerts.at(-1)!.device], [1009, 'honest/a']);
});
