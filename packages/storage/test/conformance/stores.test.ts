import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeStore } from '../../conformance/index.ts';
import { TARGETS } from './targets.ts';

// STORES=sqlite,json: which stores to prove. One that is asked for and not there fails; nothing is skipped.
for (const name of (process.env.STORES ?? 'sqlite,json').split(',')) {
  const target = TARGETS.find((candidate) => candidate.name === name.trim());
  if (target === undefined) {
    test(`store ${name}`, () => {
      assert.fail(`STORES names ${name}; there are ${TARGETS.map((known) => known.name).join(', ')}`);
    });
  } else {
    describeStore(target);
  }
}
