// Runs a small study in `directory`, and ends itself with SIGKILL at journal entry number `killAt` (0: never).
import { environmentOf } from '@tidegauge/experiments/archive/environment';
import { openResults } from '@tidegauge/experiments/archive/results';
import { runStudy } from '@tidegauge/experiments/runner';
import { SmallPlace, smallPlan, smallRound } from './small-study.ts';

const [directory, killAt] = process.argv.slice(2);
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const place = new SmallPlace();
const plan = smallPlan();
const options = { source: 'study: small\n', force: false, needBytes: 0, say };
const results = await openResults(directory!, plan, await environmentOf(place), options);
let left = Number(killAt);
const append = results.append;
const killing = {
  ...results,
  append: (entry: Parameters<typeof append>[0]) => {
    append(entry);
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  },
};
// In the middle of a run: its operations file is there, and its document is not.
const openRound = smallRound(() => {
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
  return true;
});
const signal = new AbortController().signal;
const outcome = await runStudy({
  place,
  results: killing,
  openRound,
  signal,
  say,
  estimateSeconds: 1,
  force: false,
});
results.close();
process.exitCode = outcome.complete ? 0 : 1;
