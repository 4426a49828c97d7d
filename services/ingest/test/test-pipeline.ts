import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createLogger } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import { Pipeline, type PipelineOptions } from '../src/pipeline.ts';
import { Quarantine } from '../src/quarantine.ts';
import { type Route, Router } from '../src/routes.ts';
import { defaultRoutes } from '../src/routes-file.ts';
import { Spool } from '../src/spool.ts';

/**
 * A pipeline with the default route or the given ones, and its files in a directory. Its bounds never stop it, unless
 * `bounds` has others.
 */
export function testPipeline(
  store: Store,
  directory: string,
  maxBatch: number,
  routes: readonly Route[] = defaultRoutes('durable'),
  bounds: Partial<PipelineOptions> = {},
) {
  const logger = createLogger('test', 'silent');
  const router = new Router(routes);
  const quarantine = new Quarantine(join(directory, 'q.db'), 'i', 1 << 20);
  const spool = new Spool(join(directory, 'spool'), 1e8, logger);
  const pipeline = new Pipeline({
    store,
    router,
    quarantine,
    spool,
    logger,
    maxBatch,
    paceMs: 0,
    maxInFlight: 1e6,
    maxInFlightBytes: 1e9,
    onFull: () => {},
    onBroken: (error) => assert.fail(String(error)),
    ...bounds,
  });
  return { pipeline, router, quarantine, spool };
}

/** Closes a pipeline with its files and its store after a test. @param remove removes their directory */
export function closeAfter(
  context: TestContext,
  { pipeline, spool, quarantine }: Pick<ReturnType<typeof testPipeline>, 'pipeline' | 'spool' | 'quarantine'>,
  store: Store,
  remove: () => unknown,
): void {
  context.after(async () => {
    pipeline.abort();
    await spool.close();
    await store.close();
    quarantine.close();
    await remove();
  });
}
