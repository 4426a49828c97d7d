// The process that the crash test kills. It writes batches in a loop and prints the number of each stored batch.
import { crashBatch } from './data.ts';
import { openStore } from './open.ts';

const [url, device, first] = process.argv.slice(2);
const store = await openStore(url!);
for (let number = Number(first); ; number += 1) {
  await store.readings.write(crashBatch(device!, number));
  process.stdout.write(`${number}\n`);
  await new Promise(setImmediate);
}
