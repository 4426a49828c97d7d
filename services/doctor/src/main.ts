import { ConfigError, EXIT, loadConfig, printConfig, printHelp } from '@tidegauge/service';
import { examine } from './doctor.ts';
import { printReport } from './report.ts';
import { settings } from './settings.ts';

const USAGE = `tidegauge doctor: looks at a board and its swarm before a deploy, and says how to mend what it finds.
It changes nothing. Exit code 0 when all is well, 1 when something has to be mended, 2 when it was asked wrongly.`;

async function main(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help')) {
    process.stdout.write(printHelp(USAGE, settings));
    return EXIT.OK;
  }
  const config = loadConfig(
    settings,
    argv.filter((argument) => argument !== '--print-config'),
    process.env,
  );
  if (argv.includes('--print-config')) {
    process.stdout.write(`${printConfig(settings, config)}\n`);
    return EXIT.OK;
  }
  const report = await examine(config);
  const colour = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
  process.stdout.write(config.json ? `${JSON.stringify(report, null, 2)}\n` : printReport(report, colour));
  return report.passed ? EXIT.OK : EXIT.FAILED;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (failure) {
  if (!(failure instanceof ConfigError)) throw failure;
  for (const problem of failure.problems) process.stderr.write(`${problem}\n`);
  process.exitCode = EXIT.MISCONFIGURED;
}
