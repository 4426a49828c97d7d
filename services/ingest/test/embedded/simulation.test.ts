import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { explore, reportOf } from '../simulation/explore.ts';
import { MUTANTS } from '../simulation/mutants.ts';

const SECONDS = 20;
const MOST_SECONDS = 60;

test(`schedules of new seeds keep what ingest promises, for ${SECONDS} s`, async (context) => {
  const found = await explore(randomInt(2 ** 31), { seconds: SECONDS });
  context.diagnostic(reportOf(found).trimEnd());
  assert.equal(found.failure, null, reportOf(found));
  assert.ok(found.schedules > 0);
});

test('a seed gives the same trace again', async () => {
  const mutant = MUTANTS[0]!;
  const runs = [];
  for (let run = 0; run < 2; run++) runs.push(await explore(1, { seconds: MOST_SECONDS }, mutant));
  const [first, second] = runs.map(({ failure }) => failure);
  assert.ok((first?.lines.length ?? 0) > 0);
  assert.deepEqual(first, second);
});

for (const mutant of MUTANTS) {
  test(`a planted mistake is found: ${mutant.name}`, async () => {
    const { failure } = await explore(1, { seconds: MOST_SECONDS }, mutant);
    assert.notEqual(failure, null, `not found in ${MOST_SECONDS} s`);
  });
}
