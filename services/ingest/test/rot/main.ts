import { parseArgs } from 'node:util';
import { temporaryDirectory } from '@tidegauge/process';
import { tallyRot } from '@tidegauge/test-support/rot';
import { rotSubjects } from './subjects.ts';

// node services/ingest/test/rot/main.ts --changes 1000 --seed 1 [--only NAME]: writes the tallies of kinds of files as JSON

const { values } = parseArgs({
  options: { changes: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
});
const folder = temporaryDirectory('rot');
try {
  const tallies = [];
  for (const subject of await rotSubjects(folder.path)) {
    if (!subject.name.startsWith(values.only ?? '')) continue;
    tallies.push(await tallyRot(subject, Number(values.changes), Number(values.seed)));
  }
  process.stdout.write(`${JSON.stringify(tallies)}\n`);
} finally {
  folder.remove();
}
