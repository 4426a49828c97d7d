// The process that a test of expiry kills. It deletes readings before a time, prints a line for each part, and then waits.
import { openStore } from './open.ts';

const [url, before] = process.argv.slice(2);
const store = await openStore(url!);
setInterval(() => {}, 60_000);
let parts = 0;
await store.readings.expire(Number(before), async () => {
  parts += 1;
  process.stdout.write(`${parts}\n`);
});
process.stdout.write('done\n');
