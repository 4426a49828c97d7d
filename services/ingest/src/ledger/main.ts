import { openExisting } from '@tidegauge/copy';
import { boolean, defineCommand, defineConfig, EXIT, integer, run, text } from '@tidegauge/service/program';
import { settings as ingest } from '../settings.ts';
import { readSimReport } from './sim-report.ts';
import { type Comparison, type MissingReadings, verifyRun } from './verify-run.ts';

const settings = defineConfig({
  against: {
    kind: text('a file name', 'FILE'),
    required: true,
    help: 'The report of the simulator: npm run sim -- --report FILE.',
  },
  store: ingest.store,
  limit: {
    kind: integer(0, 1_000_000),
    default: '1000',
    help: 'Ranges of missing readings that are printed at most. All are counted.',
  },
  json: { kind: boolean(), default: 'false', help: 'Prints the result as JSON.' },
});

const verify = defineCommand({
  name: 'tidegauge ledger verify',
  summary: 'Compares what the simulator published with what a store has, reading by reading.',
  details:
    'Ends with 1 when the store lacks a reading that the broker acknowledged, or has a number twice, and prints each of them\n' +
    'by device, boot, number and metric. Run it when ingest has stored everything: its ledger shows spooled 0 and in flight 0.',
  examples: ['tidegauge ledger verify --against report.json --store sqlite:./data/tidegauge.db'],
  configuredBy: 'environment',
  settings,
  async run({ against, store: url, limit, json }, signal) {
    const store = await openExisting(url);
    try {
      const listed: MissingReadings[] = [];
      let ranges = 0;
      const onMissing = (missing: MissingReadings) => {
        ranges++;
        if (listed.length < limit) listed.push(missing);
      };
      const result = await verifyRun(readSimReport(against), store, onMissing, signal);
      const isVerified = result.missing === 0 && result.duplicate === 0;
      if (json)
        process.stdout.write(`${JSON.stringify({ verified: isVerified, ...result, listed, ranges })}\n`);
      else process.stdout.write(textOf(result, listed, ranges));
      return isVerified ? EXIT.OK : EXIT.FAILED;
    } finally {
      await store.close();
    }
  },
});

export const program = {
  name: 'tidegauge ledger',
  summary: 'Compares the readings that sensors sent with those that a store has.',
  examples: ['tidegauge ledger verify --against report.json --store sqlite:./data/tidegauge.db'],
  commands: { verify },
};

function textOf(result: Comparison, listed: readonly MissingReadings[], ranges: number): string {
  const { devices, acknowledged, stored, missing, replaced, duplicate, unacknowledged } = result;
  const lines = listed.map(({ device, boot, first, last, metrics }) => {
    const numbers = first === last ? `seq ${first}` : `seq ${first} to ${last}`;
    return `missing: ${device} boot ${boot} ${numbers} ${metrics.join(', ')}`;
  });
  if (ranges > listed.length) lines.push(`and ${ranges - listed.length} more ranges`);
  lines.push(
    `${devices} devices: ${acknowledged} readings acknowledged, ${stored} stored, ${missing} missing, ${duplicate} stored twice`,
  );
  if (replaced > 0) lines.push(`${replaced} were replaced by a reading of the same time`);
  if (unacknowledged > 0) lines.push(`${unacknowledged} more are stored that the broker did not acknowledge`);
  lines.push(missing + duplicate === 0 ? 'verified' : 'not verified');
  return `${lines.join('\n')}\n`;
}

if (import.meta.main) process.exitCode = await run(program);
