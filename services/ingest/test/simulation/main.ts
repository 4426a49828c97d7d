import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { explore, reportOf } from './explore.ts';
import { MUTANTS } from './mutants.ts';

// node services/ingest/test/simulation/main.ts [--seconds 20] [--seed NUMBER] [--schedules NUMBER] [--mutant NAME]

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    seed: { type: 'string' },
    schedules: { type: 'string' },
    mutant: { type: 'string' },
  },
});
const { seconds, seed, schedules, mutant: name } = values;
const mutant = MUTANTS.find((each) => each.name === name) ?? null;
if (name !== undefined && mutant === null)
  throw new Error(`there is no mutant ${name}: choose from ${MUTANTS.map((each) => each.name).join(', ')}`);
const most = {
  seconds: Number(seconds),
  ...(schedules === undefined ? {} : { schedules: Number(schedules) }),
};
const firstSeed = seed === undefined ? randomInt(2 ** 31) : Number(seed);
// Before the run, which can end without a report.
process.stderr.write(`first seed ${firstSeed}\n`);
const found = await explore(firstSeed, most, mutant);
process.stdout.write(await reportOf(found));
process.exitCode = found.failure === null ? 0 : 1;
