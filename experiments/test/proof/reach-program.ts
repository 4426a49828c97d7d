import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { openStore } from '@tidegauge/storage';

// Inserts a record directly, reads it through the API, and prints both answers with the medians of their times.
// usage: reach-program.ts STORE API TOKEN TABLE

const READS = 200;
const [url, api, token, table] = process.argv.slice(2) as [string, string, string, string];

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let read = 0; read < READS; read += 1) {
    const start = performance.now();
    await act();
    times.push(performance.now() - start);
  }
  return median(times);
}

const store = await openStore(url);
const client = new HttpClient(1, token);
try {
  await store.records.createTable(table, 1);
  const inserted = await store.records.insert(table, 'user1', { field0: 'reached' });
  const answer = await client.send('GET', `${api}/v1/records/${table}/user1`);
  const rawMs = await timed(() => store.records.read(table, 'user1', null));
  const appMs = await timed(() => client.send('GET', `${api}/v1/records/${table}/user1`));
  process.stdout.write(JSON.stringify({ inserted, ...answer, rawMs, appMs }));
} finally {
  client.close();
  await store.close();
}
