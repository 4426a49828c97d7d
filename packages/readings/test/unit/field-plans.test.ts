import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FieldPlans, PLAN_CACHE_BYTES } from '../../src/mapping/field-plans.ts';

describe('the plans of a mapping', () => {
  const plans = new FieldPlans({}, new Set());
  const names = (length: number) => Array.from({ length: 20_000 }, (_, i) => String(i).padStart(length, 'a'));

  it('are kept for the names of a large installation', () => {
    const first = plans.metric('temperature');
    for (const name of names(20).slice(0, 3000)) plans.metric(name);
    assert.equal(plans.metric('temperature'), first);
  });

  it('are bounded in bytes, also for short names, and are computed for further names', () => {
    for (const length of [1, 60]) {
      const bounded = new FieldPlans({}, new Set());
      for (const name of names(length)) assert.equal(bounded.field(name).name, name);
      const plans = names(length).map((name) => bounded.field(name));
      const kept = names(length).filter((name, index) => bounded.field(name) === plans[index]).length;
      assert.ok(kept > 1000 && kept * (200 + length) <= PLAN_CACHE_BYTES, `${kept} plans`);
    }
  });
});
