import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FuzzOptions, runTarget } from '../../fuzz/run-target.ts';
import { fuzzTargets } from '../../fuzz/targets.ts';

const SEED = 20_261_123;
/** All targets together take about 5 s of processor time. `.ci/run` runs more, with another seed each time. */
const INPUTS = 2000;
const LIMIT_MS = 5000;

function run(options: Pick<FuzzOptions, 'module' | 'target'> & Partial<FuzzOptions>) {
  return runTarget({ seed: SEED, inputs: INPUTS, seconds: 3600, limitMs: LIMIT_MS, ...options });
}

describe('changed payloads', () => {
  for (const { target, module } of fuzzTargets) {
    const { name } = target;
    it(`are decoded or refused by ${name}`, async () => {
      const result = await run({ module, target: name });
      if ('problem' in result) {
        assert.fail(`${result.problem}\nnpm run fuzz -- ${name} --input ${result.input.toString('base64')}`);
      }
      assert.equal(result.inputs, INPUTS);
      assert.ok(result.kinds > 2, `${result.kinds} kinds of results`);
    });
  }
});

describe('the fuzzer', () => {
  const module = new URL('../faulty-targets.ts', import.meta.url).href;
  const failureOf = async (target: string, options: Partial<FuzzOptions> = {}) => {
    const result = await run({ module, target, ...options });
    return 'problem' in result ? result : assert.fail('no failure was found');
  };

  it('finds an exception, and finds it again with the same seed', async () => {
    const found = await failureOf('throws');
    assert.match(found.problem, /RangeError: two braces/);
    assert.ok(found.input.includes('}}'));
    assert.deepEqual(await failureOf('throws'), found);
  });

  it('finds an input that takes too long', async () => {
    const found = await failureOf('hangs', { limitMs: 200 });
    assert.match(found.problem, /more than 200 ms/);
    assert.equal(found.input.length, 9);
  });

  it('finds an input that waits without end', async () => {
    assert.match((await failureOf('waits', { limitMs: 50 })).problem, /more than 50 ms/);
  });

  it('does not count the time in which a thread gets no processor', async () => {
    const result = await run({ module, target: 'pauses', inputs: 50, limitMs: 500 });
    assert.ok(!('problem' in result), 'problem' in result ? result.problem : '');
  });

  it('finds memory that is not released', async () => {
    assert.match(
      (await failureOf('leaks', { inputs: 12_000 })).problem,
      /memory in use grew by \d{8,} bytes/,
    );
  });

  it('reports the counts of a target without faults', async () => {
    const result = await run({ module, target: 'sound', inputs: 500 });
    assert.ok(!('problem' in result));
    assert.equal(result.inputs, 500);
  });
});
