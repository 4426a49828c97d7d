// Installs the dependencies of a program, then runs it: `run.js FILE.ts …` with Node 24, `run.js --python MODULE …`.
// `--dev` also installs what only tests and checks need. `--simulator` installs the simulator at the same time.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { NODE, NODE_ENVIRONMENT, NODE_FLAGS, PYTHON, setUpNode, setUpSimulator } from './setup.js';

const argv = process.argv.slice(2);
const takeFlag = (flag) => argv[0] === flag && argv.shift() === flag;
const dev = takeFlag('--dev');
const simulator = takeFlag('--simulator') && process.env.SIM !== 'false' && !argv.includes('--no-sim');
const [first, ...rest] = argv;
let program = NODE;
let args = [...NODE_FLAGS, first, ...rest];
try {
  const isPython = first === '--python';
  await Promise.all([setUpNode({ dev }), isPython || simulator ? setUpSimulator() : null]);
  if (isPython) {
    program = PYTHON;
    args = ['-m', ...rest];
  }
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...NODE_ENVIRONMENT } });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  process.stderr.write(`${program} cannot be started: ${error.message}\n`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal];
});
