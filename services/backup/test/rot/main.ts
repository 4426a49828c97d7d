import { parseArgs } from 'node:util';
import { temporaryDirectory } from '@tidegauge/process';
import { tallyRot } from '@tidegauge/test-support/rot';
import { backupSubject } from './subject.ts';

// node services/backup/test/rot/main.ts --changes 1000 --seed 1: writes the tally of a backup as JSON

const { values } = parseArgs({ options: { changes: { type: 'string' }, seed: { type: 'string' } } });
const folder = temporaryDirectory('rot');
try {
  const subject = await backupSubject(folder.path);
  const tally = await tallyRot(subject, Number(values.changes), Number(values.seed));
  process.stdout.write(`${JSON.stringify([tally])}\n`);
} finally {
  folder.remove();
}
