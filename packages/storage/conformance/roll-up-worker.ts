// The process that a test of roll-ups kills. It rolls up all days in a loop and prints a line for each roll-up.
import { MAX_TIME } from '@tidegauge/readings';
import { openStore } from './open.ts';

const [url] = process.argv.slice(2);
const store = await openStore(url!);
for (let number = 0; ; number += 1) {
  process.stdout.write(`${number}\n`);
  await store.readings.rollUp(0, MAX_TIME);
}
