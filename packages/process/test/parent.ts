import { startProcess } from '@tidegauge/process';

// Prints the process id of a child that does not end.
const child = startProcess({ command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] });
process.stdout.write(`${child.pid}\n`);
