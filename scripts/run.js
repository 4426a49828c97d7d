// Installs the dependencies of a program, then runs it: `run.js FILE.ts …` with Node 24, `run.js --python MODULE …`.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { NODE, NODE_ENVIRONMENT, NODE_FLAGS, PYTHON, setUpNode, setUpPython } from './setup.js';

const [first, ...rest] = process.argv.slice(2);
let program = NODE;
let args = [...NODE_FLAGS, first, ...rest];
try {
  setUpNode();
  if (first === '--python') {
    setUpPython();
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
