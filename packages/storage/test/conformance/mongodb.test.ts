import { after, describe } from 'node:test';
import { startMongodb } from '@tidegauge/lab/mongodb';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { MongoClient } from 'mongodb';
import type { StoreTarget } from '../../conformance/index.ts';
import { isAsked, prove } from './prove.ts';

if (isAsked('mongodb')) {
  const started = await startOrSkip('mongodb', () => startMongodb());
  if ('skip' in started) describe('store mongodb', { skip: started.skip });
  else proveOn(started.server);
}

function proveOn(server: Awaited<ReturnType<typeof startMongodb>>): void {
  after(() => server.stop());
  let places = 0;
  const { control } = server;
  const target: StoreTarget = {
    name: 'mongodb',
    async create() {
      places += 1;
      const url = server.url(`conformance_${process.pid}_${places}`);
      return { url, cleanup: () => drop(url) };
    },
    ...(control === null
      ? {}
      : {
          async restart() {
            await control.kill();
            await control.restart();
          },
        }),
  };
  prove(target);
}

async function drop(url: string): Promise<void> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 5000 });
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}
