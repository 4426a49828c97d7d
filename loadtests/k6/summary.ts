import type { K6Summary } from '../src/results/summary.ts';
import { summarize } from '../src/results/summary.ts';
import { ycsbText } from '../src/results/ycsb-text.ts';
import { plan } from './scenario.ts';

/** Writes k6's figures to the file that `npm run loadtest` names in SUMMARY. Without a file, prints the report. */
export function handleSummary(data: K6Summary): Record<string, string> {
  const file = __ENV.SUMMARY;
  if (file !== undefined) return { [file]: JSON.stringify({ state: data.state, metrics: data.metrics }) };
  const open = plan.parts.some(({ model }) => model.kind === 'open');
  const summary = summarize(data, open);
  const verdicts = [
    ...summary.invalid.map((reason) => `INVALID: ${reason}\n`),
    ...summary.failures.map((failure) => `FAILED: ${failure}\n`),
  ];
  return { stdout: `${ycsbText(summary, true)}${verdicts.join('')}` };
}
