import { startMongodb } from '@tidegauge/lab/mongodb';
import { MongoClient } from 'mongodb';
import { proveServer } from './prove.ts';

let places = 0;

await proveServer('mongodb', startMongodb, ({ url: place, control }) => ({
  async create() {
    places += 1;
    const url = place(`conformance_${process.pid}_${places}`);
    return { url, cleanup: () => drop(url) };
  },
  // The tests must not kill a server that MONGODB_URL names.
  ...(control === null
    ? {}
    : {
        async restart() {
          await control.kill();
          await control.restart();
        },
      }),
}));

async function drop(url: string): Promise<void> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 5000 });
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}
