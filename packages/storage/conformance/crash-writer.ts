// The process that the crash test kills: writes batches without end and prints the number of each that is stored.
import { openStore } from '../src/index.ts';
import { crashBatch } from './data.ts';

const [url, device, first] = process.argv.slice(2);
const store = await openStore(url!);
for (let number = Number(first); ; number += 1) {
  await store.readings.write(crashBatch(device!, number));
  process.stdout.write(`${number}\n`);
  await new Promise(setImmediate);
}
