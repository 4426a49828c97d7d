import { latencyOfSamples } from '@tidegauge/test-support/latency';
import type { Outcome } from '../operations/outcome.ts';
import type { OperationSummary, Summary } from '../results/summary.ts';
import { problemsOf, type RecordBlock } from './record-driver.ts';

const NAMES = {
  read: 'READ',
  update: 'UPDATE',
  insert: 'INSERT',
  scan: 'SCAN',
  readModifyWrite: 'READ-MODIFY-WRITE',
} as const;

/** Converts the figures of the raw driver to the format of k6's figures. */
export function summarizeRaw(block: RecordBlock): Summary {
  const operations: Record<string, OperationSummary> = {};
  for (const [type, outcomes] of block.outcomes) {
    operations[NAMES[type]] = {
      latency: latencyOfSamples(Float64Array.from(block.latencies.get(type) ?? [])),
      intended: null,
      failed: null,
      outcomes: Object.fromEntries(outcomes),
    };
  }
  if (block.verified > 0) {
    const counts = { OK: block.verified - block.damaged, UNEXPECTED_STATE: block.damaged };
    const outcomes = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)) as Partial<
      Record<Outcome, number>
    >;
    operations.VERIFY = { latency: null, intended: null, failed: null, outcomes };
  }
  return {
    runTimeMs: block.seconds * 1000,
    throughput: block.done / block.seconds,
    operations,
    facts: {},
    dropped: 0,
    invalid: block.done === 0 ? ['not one operation succeeded'] : [],
    failures: problemsOf(block),
  };
}
