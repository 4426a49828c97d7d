import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort, temporaryDirectory } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { createLogger, EVERYONE, listen, problemHandler } from '@tidegauge/service';
import { openStore, type Store } from '@tidegauge/storage';
import express from 'express';
import { DeliveryTurns } from '../src/delivery-turns.ts';
import { Boards } from '../src/relay/boards.ts';
import { relayOperations } from '../src/relay/operations.ts';
import { Relay } from '../src/relay/relay.ts';
import type { RelayAnswer, RelayRequest } from '../src/relay/relay-message.ts';
import { type RelaySender, takeRelayed } from '../src/relay/take-relayed.ts';
import { testPipeline } from './test-pipeline.ts';

const logger = createLogger('test', 'silent');

/** Ingest without a source: a pipeline over a SQLite file, its relay, and the requests of boards over HTTP. */
export interface RelayNode {
  readonly url: string;
  readonly store: Store;
  readonly boards: Boards;
  readonly relay: Relay | null;
  /** The batches that were committed. */
  readonly batches: readonly (readonly Reading[])[];
  /** Takes a request without HTTP. */
  take(request: RelayRequest, sender: RelaySender): Promise<RelayAnswer>;
  /** Stores readings and appends them to the logs of the relay, as the pipeline does. */
  commit(readings: readonly Reading[]): Promise<void>;
  /** Starts the HTTP server. */
  open(): Promise<void>;
  /** Stops the HTTP server. */
  shut(): Promise<void>;
}

interface NodeOptions {
  /** URLs of centres. The caller starts the relay. */
  readonly centres?: readonly string[];
  /** Largest size of the log of a centre, bytes. */
  readonly maxBytes?: number;
  /** The device that all senders are limited to. */
  readonly limit?: string | null;
}

export async function relayNode(
  context: TestContext,
  { centres, maxBytes = 1e9, limit = null }: NodeOptions = {},
): Promise<RelayNode> {
  const folder = temporaryDirectory('relay');
  const directory = folder.path;
  const store = await openStore(`sqlite:${join(directory, 'store.db')}?synchronous=normal`);
  const boards = new Boards(join(directory, 'boards'), logger);
  const config = { relay: centres ?? [], relayToken: null, relayMaxBytes: maxBytes, relayRate: 0 };
  const options = { directory: join(directory, 'relay'), store, id: boards.id, name: 'board', logger };
  const relay = centres === undefined ? null : new Relay(config, options);
  const batches: (readonly Reading[])[] = [];
  const { pipeline, router, quarantine, spool } = testPipeline(store, directory, 1000, undefined, {
    onCommitted: async (readings, units) => {
      batches.push(readings);
      await relay?.append(readings, units);
    },
  });
  const app = express();
  const routes = express.Router();
  app.use((_request, response, next) => {
    response.locals.principal = { ...EVERYONE, devices: limit };
    next();
  });
  const deliveries = new DeliveryTurns(store.capabilities);
  const operations = { pipeline, router, store, boards, instance: 'i', relay, deliveries };
  for (const { method, path, handlers } of relayOperations(operations)) routes[method](path, ...handlers);
  app.use(routes, problemHandler(logger));
  const port = await freePort();
  let server: Awaited<ReturnType<typeof listen>> | null = null;
  const shut = async () => {
    await server?.close(0);
    server = null;
  };
  context.after(async () => {
    await relay?.stop();
    await shut();
    await pipeline.idle();
    pipeline.abort();
    await spool.close();
    quarantine.close();
    await store.close();
    folder.remove();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    store,
    boards,
    relay,
    batches,
    shut,
    take: (request, sender) => takeRelayed({ ...operations, beyond: () => [] }, request, sender),
    async open() {
      server = await listen(app, '127.0.0.1', port, 'the test');
    },
    async commit(readings) {
      await store.readings.write(readings);
      await relay?.append(readings, []);
    },
  };
}

/** Readings of a device, one each second. */
export function series(device: string, count: number, from: number): Reading[] {
  return Array.from({ length: count }, (_, index) => {
    const time = from + index * 1e6;
    return {
      device,
      metric: 'temperature',
      time,
      value: index / 8,
      received: time + 5000,
      boot: 'b1',
      seq: index,
      quality: 'ok' as const,
    };
  });
}

/** All readings of a device, oldest first. */
export async function readingsOf(store: Store, device: string): Promise<Reading[]> {
  const found: Reading[] = [];
  for await (const reading of store.readings.range({ device, order: 'asc', limit: 1_000_000 }))
    found.push(reading);
  return found;
}
