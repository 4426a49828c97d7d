// The process that a test of rollups kills. It writes readings and computes rollups at the same time, and prints a line for
// each write. Its clock passes two hours with each write.
import { reading, WORKER_TIME } from './data.ts';
import { openStore } from './open.ts';

const [url, device, start, seed] = process.argv.slice(2);
const HOUR = 3_600_000_000;
let now = Number(start);
const store = await openStore(url!, { clock: () => now });

async function compute(): Promise<void> {
  for (;;) {
    await store.rollups.work();
    await new Promise(setImmediate);
  }
}

void compute();
for (let number = 0; ; number += 1) {
  const batch = Array.from({ length: 40 }, (_, index) =>
    reading({
      device: device!,
      time: WORKER_TIME + ((number * 7 + index * 13) % 70) * HOUR + index,
      value: Number(seed) + number + index / 8,
    }),
  );
  await store.readings.write(batch);
  now += 2 * HOUR;
  process.stdout.write(`${number}\n`);
  await new Promise(setImmediate);
}
