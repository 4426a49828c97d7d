import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applicationCosts,
  type DriverDifference,
} from '@tidegauge/loadtests/study/commands/application-cost';

const FIXED = { store: 'postgres', threads: 1, target: 0, fault: 'none', network: 'none' };

function difference(more: Partial<DriverDifference>, values: readonly (number | null)[]): DriverDifference {
  return {
    ...{ metric: 'read.mean', unit: 'ms', first: 'app', second: 'raw', factors: {} },
    second_mean: { value: { value: 2 } },
    pairs: values.map((value) => ({ value })),
    ...more,
  };
}

test('one combination has the interval of Student for its paired differences', () => {
  // Differences 1, 2, 3: mean 2, standard error 1/sqrt(3), t(0.975, 2) = 4.3027.
  const [cost] = applicationCosts([difference({}, [1, 2, 3])], FIXED);
  assert.equal(cost?.store, 'postgres');
  assert.equal(cost.operation, 'read');
  assert.equal(cost.raw, 2);
  assert.equal(cost.difference, 2);
  assert.ok(Math.abs(cost.high - (2 + 4.302653 / Math.sqrt(3))) < 1e-5, String(cost.high));
  assert.ok(Math.abs(cost.low + cost.high - 4) < 1e-9);
});

test('combinations have the same weight, and degrees of freedom by Satterthwaite', () => {
  // Variances of the means: 1/3 and 4/3. Degrees: (5/3)^2 / ((1/3)^2/2 + (4/3)^2/2) = 2.94, rounded down to 2.
  const costs = applicationCosts(
    [
      difference({ factors: { workload: 'a' } }, [1, 2, 3]),
      difference({ factors: { workload: 'b' } }, [2, 4, 6]),
    ],
    FIXED,
  );
  assert.equal(costs.length, 1);
  const { difference: mean, high, combinations, pairs } = costs[0]!;
  assert.equal(mean, 3);
  assert.deepEqual([combinations, pairs], [2, 6]);
  assert.ok(Math.abs(high - (3 + (4.302653 * Math.sqrt(5 / 3)) / 2)) < 1e-5, String(high));
});

test('only undisturbed runs with the fewest threads count, by store and operation', () => {
  const costs = applicationCosts(
    [
      difference({ factors: { store: 'hbase', threads: 4 } }, [1, 2]),
      difference({ factors: { store: 'cassandra', threads: 4 }, metric: 'update.mean' }, [5, 7]),
      difference({ factors: { store: 'hbase', threads: 32 } }, [90, 91]),
      difference({ factors: { store: 'hbase', threads: 4, fault: 'kill-node' } }, [90, 91]),
      difference({ factors: { store: 'hbase', threads: 4, network: 'wireless' } }, [90, 91]),
      difference({ factors: { store: 'hbase', threads: 4, target: 1000 } }, [90, 91]),
      difference({ factors: { store: 'hbase', threads: 4 }, second: 'app', first: 'k6' }, [90, 91]),
      difference({ factors: { store: 'hbase', threads: 4 }, metric: 'throughput' }, [90, 91]),
      difference({ factors: { store: 'hbase', threads: 4 }, metric: 'all.mean' }, [90, 91]),
      difference({ factors: { store: 'hbase', threads: 4, workload: 'c' } }, [90, null]),
    ],
    FIXED,
  );
  assert.deepEqual(
    costs.map(({ store, operation, threads, difference: mean }) => [store, operation, threads, mean]),
    [
      ['cassandra', 'update', 4, 6],
      ['hbase', 'read', 4, 1.5],
    ],
  );
  assert.deepEqual(applicationCosts([], FIXED), []);
  const [all] = applicationCosts([difference({ metric: 'all.mean' }, [1, 3])], FIXED);
  assert.equal(all?.operation, 'all');
});
