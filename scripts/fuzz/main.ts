// Fuzzes the code that reads input of strangers. See docs/testing.md.
import { parseArgs } from 'node:util';
import { didYouMean } from '@tidegauge/text';
import { refuse, usageProblem } from '../usage-problem.ts';
import { MAX_INPUT_BYTES } from './fuzz-target.ts';
import { runTarget } from './run-target.ts';
import { fuzzTargets } from './targets.ts';

const SCRIPT = 'npm run fuzz';
const names = fuzzTargets.map(({ target }) => target.name);

/** Processor time from which the slowest input is printed. */
const SLOW_MS = 100;

const HELP = `Usage: npm run fuzz -- [TARGET...] [OPTIONS]

Changes published payloads at random, and checks that each is decoded or refused: no exception, no hang, bounded memory,
valid results. Without a target: all, one after the other.

Targets: ${names.join(', ')}

Options:
  --seconds N      the time for each target; default: 10
  --inputs N       stop after this many inputs for each target; the same seed gives the same inputs
  --seed N         default: a random one, which is printed
  --limit-ms N     the most processor time that one input may take; default: 2000
  --input BASE64   run one input, which an earlier run printed
  --help           print this text

Exit codes: 0: no failure. 1: an input failed; it is printed as base64. 2: bad usage.
`;

const options = {
  seconds: { type: 'string' },
  inputs: { type: 'string' },
  seed: { type: 'string' },
  'limit-ms': { type: 'string', default: '2000' },
  input: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

function parse() {
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return refuse(SCRIPT, usageProblem(error, options));
  }
}

function positive(name: string, text: string): number {
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0
    ? value
    : refuse(SCRIPT, `--${name} takes a whole number from 1, not ${text}`);
}

const { values, positionals } = parse();
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const unknown = positionals.find((name) => !names.includes(name));
if (unknown !== undefined) {
  const near = didYouMean(unknown, names) || `: choose from ${names.join(', ')}`;
  refuse(SCRIPT, `there is no target ${unknown}${near}`);
}

if (values.input !== undefined) {
  const named = fuzzTargets.find(({ target }) => positionals.length === 1 && target.name === positionals[0]);
  if (named === undefined) refuse(SCRIPT, '--input needs one target');
  const input = Buffer.from(values.input, 'base64');
  if (input.length > MAX_INPUT_BYTES)
    refuse(SCRIPT, `--input has ${input.length} bytes, at most ${MAX_INPUT_BYTES} are run`);
  process.stdout.write(`${named.target.run(input)}\n`);
  process.exit(0);
}

const seed = values.seed === undefined ? Date.now() % 2 ** 31 : positive('seed', values.seed);
const inputs = values.inputs === undefined ? Number.MAX_SAFE_INTEGER : positive('inputs', values.inputs);
const whenUnnamed = values.inputs === undefined ? '10' : String(2 ** 31);
const seconds = positive('seconds', values.seconds ?? whenUnnamed);
const limitMs = positive('limit-ms', values['limit-ms']);
const chosen = fuzzTargets.filter(
  ({ target }) => positionals.length === 0 || positionals.includes(target.name),
);
process.stdout.write(`seed ${seed}\n`);
for (const {
  module,
  target: { name: target },
} of chosen) {
  const length = values.inputs === undefined ? `${seconds} s` : `${inputs} inputs`;
  process.stderr.write(`${target}: ${length}...\n`);
  const result = await runTarget({ module, target, seed, inputs, seconds, limitMs });
  if ('problem' in result) {
    const input = result.input.toString('base64');
    process.stdout.write(`${target}: input ${result.number} failed: ${result.problem}\n`);
    process.stdout.write(`  to run it alone: npm run fuzz -- ${target} --input ${input || "''"}\n`);
    process.stdout.write(
      `  to repeat all: npm run fuzz -- ${target} --seed ${seed} --inputs ${result.number}\n`,
    );
    process.exitCode = 1;
    continue;
  }
  const { kinds, slowestMs, slowestInput, grownBytes } = result;
  const rate = Math.round(result.inputs / result.seconds);
  process.stdout.write(
    `${target}: ${result.inputs} inputs in ${result.seconds.toFixed(1)} s (${rate}/s), ${kinds} kinds of results, ` +
      `slowest ${slowestMs.toFixed()} ms, memory ${(grownBytes / 2 ** 20).toFixed(1)} MiB more\n`,
  );
  if (slowestMs < SLOW_MS) continue;
  const slow = Buffer.from(slowestInput).toString('base64');
  process.stdout.write(`  the slowest: npm run fuzz -- ${target} --input ${slow}\n`);
}
