import { defineCommand, EXIT, run } from '@tidegauge/service';
import { examine } from './doctor.ts';
import { printReport } from './report.ts';
import { settings } from './settings.ts';

export const program = defineCommand({
  name: 'tidegauge doctor',
  summary:
    'Checks a board and its swarm before a deployment, and prints how to fix each problem. It changes nothing.',
  details: 'It ends with 1 when a check failed.',
  configuredBy: 'environment',
  settings,
  async run(config) {
    const report = await examine(config);
    const colour = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
    process.stdout.write(config.json ? `${JSON.stringify(report, null, 2)}\n` : printReport(report, colour));
    return report.passed ? EXIT.OK : EXIT.FAILED;
  },
});

if (import.meta.main) process.exitCode = await run(program);
