import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { familyOf, identify, isRunning } from '@tidegauge/lab/processes';
import { startProcess, waitUntil } from '@tidegauge/process';
import { ROOT } from '../../setup.js';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-run-'));
after(() => rmSync(folder, { recursive: true }));
const program = join(folder, 'program.ts');
writeFileSync(program, `console.log('ready'); setInterval(() => {}, 1000);`);
const scripts = { start: `exec node ${join(ROOT, 'scripts/run.js')} ${program}` };
writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'a', version: '1.0.0', scripts }));

const wait = { timeoutMs: 20_000 };
const [NPM, RUN] = [0, 1];

for (const [signal, index, name] of [
  ['SIGTERM', NPM, 'npm'],
  ['SIGKILL', NPM, 'npm'],
  ['SIGKILL', RUN, 'run.js'],
] as const) {
  test(`${signal} to ${name} ends all processes of npm start`, async (context) => {
    const npm = startProcess({ command: 'npm', args: ['start'], cwd: folder });
    await waitUntil(
      () => `the program: ${npm.log()}`,
      () => npm.log().includes('ready'),
      wait,
    );
    // npm, run.js and the program.
    const processes = familyOf(npm.pid).map((pid) => identify(pid)!);
    context.after(() => {
      for (const { pid } of processes.filter(isRunning)) process.kill(pid, 'SIGKILL');
    });
    process.kill(processes[index]!.pid, signal);
    await waitUntil('the end of all processes', () => !processes.some(isRunning), wait);
  });
}
