import { temporaryDirectory } from '@tidegauge/process';

// Prints the path of a temporary directory, and does not end.
process.stdout.write(`${temporaryDirectory('owned').path}\n`);
setInterval(() => {}, 1000);
