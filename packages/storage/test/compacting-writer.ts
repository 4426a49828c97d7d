// The process that the test of blocks kills. It writes readings in order, some of them late, and moves them to small blocks.
// It prints the number of each stored reading, and `block` after each step.
import { reading, T0 } from '../conformance/data.ts';
import { parseUrl } from '../src/index.ts';
import { Blocks } from '../src/sqlite/blocks.ts';
import { Compactor } from '../src/sqlite/compactor.ts';
import { readConfig } from '../src/sqlite/config.ts';
import { Database } from '../src/sqlite/database.ts';
import { SqliteReadings } from '../src/sqlite/readings.ts';

const [url, first] = process.argv.slice(2);
const db = new Database(readConfig(parseUrl(url!)));
await db.open();
const blocks = new Blocks(db, 8);
const readings = new SqliteReadings(db, 10, 6, blocks);
const compactor = new Compactor(db, blocks);
for (let number = Number(first); ; number += 1) {
  // Every fifth reading is 40 places late.
  const place = number % 5 === 4 ? number - 40 : number;
  await readings.write([
    reading({ device: 'd', time: T0 + place * 2 + (number % 5 === 4 ? 1 : 0), value: number }),
  ]);
  process.stdout.write(`${number}\n`);
  if (number % 3 !== 0) continue;
  if (await compactor.step()) process.stdout.write('block\n');
  await new Promise(setImmediate);
}
