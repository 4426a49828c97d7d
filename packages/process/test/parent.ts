import { startProcess } from '@tidegauge/process';

// Prints the process id of a child that does not end, when it runs. With the argument own-group, it has its own
// process group.
const child = startProcess({
  command: process.execPath,
  args: ['-e', "console.log('ready'); setInterval(() => {}, 1000)"],
  ownGroup: process.argv[2] === 'own-group',
  onOutput: () => process.stdout.write(`${child.pid}\n`),
});
