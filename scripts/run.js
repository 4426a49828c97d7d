// Installs the dependencies of a program, then runs it: `run.js FILE.ts …` with Node 24, `run.js --python MODULE …`.
// `--dev` also installs what only tests and checks need. `--simulator` installs the simulator at the same time.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { NODE, NODE_ENVIRONMENT, NODE_FLAGS, PYTHON, setUpNode, setUpSimulator } from './setup.js';

const SETPRIV = '/usr/bin/setpriv';
const POLL_MS = 250;

const argv = process.argv.slice(2);
const takeFlag = (flag) => argv[0] === flag && argv.shift() === flag;
const dev = takeFlag('--dev');
const simulator = takeFlag('--simulator') && process.env.SIM !== 'false' && !argv.includes('--no-sim');
const [first, ...rest] = argv;
let program = NODE;
let args = [...NODE_FLAGS, first, ...rest];
let child = null;
const end = (signal) => (child === null ? process.exit(128 + constants.signals[signal]) : child.kill(signal));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => end(signal));
endWithNpm();
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
// Linux then ends the program with this process, also after SIGKILL.
const command = existsSync(SETPRIV)
  ? [SETPRIV, '--pdeathsig', 'TERM', '--', program, ...args]
  : [program, ...args];
child = spawn(command[0], command.slice(1), {
  stdio: 'inherit',
  env: { ...process.env, ...NODE_ENVIRONMENT },
});
child.on('error', (error) => {
  process.stderr.write(`${program} cannot be started: ${error.message}\n`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal];
});

/** npm passes SIGTERM on. Its end by another signal is a SIGTERM too. */
function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(watch);
    end('SIGTERM');
  }, POLL_MS);
  watch.unref();
}
