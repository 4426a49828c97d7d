import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isLoopback, lockDirectory, type Running } from '@tidegauge/service';
import { createStore } from '@tidegauge/storage';
import { NODE_FLAGS, PYTHON, setUpSimulator } from '../../../scripts/setup.js';
import { announcement } from './announcement.ts';
import {
  apiEnvironment,
  ingestEnvironment,
  type Shared,
  simulatorEnvironment,
} from './child-environments.ts';
import { checkSettings, type Settings } from './settings.ts';
import { type Child, startChild } from './start-child.ts';
import { waitUntilStored } from './wait-until-stored.ts';

const TIDEGAUGE = fileURLToPath(new URL('./main.ts', import.meta.url));
const START_SECONDS = 60;
/** An earlier instance that ends may still hold the lock for a moment. */
const LOCK_MS = 1000;

/**
 * Starts ingest, API and simulator, each when the one before is ready. `stop` ends them in the reverse order,
 * and ingest only after it has stored what was published, so that nothing is lost.
 *
 * @throws {ConfigError} before anything is installed or started, when a setting cannot work
 */
export async function startPipeline(config: Settings, signal: AbortSignal): Promise<Running> {
  checkSettings(config);
  const store = config.store ?? `sqlite:${join(config.data, 'tidegauge.db')}`;
  // Checks the URL. Nothing is opened yet.
  await createStore(store);
  const lock = await lockDirectory(config.data, 'tidegauge', { waitMs: LOCK_MS, setting: '--data' });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  const undo: (() => unknown)[] = [() => lock.release()];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const child = (name: string, program: string, args: readonly string[], env: Record<string, string>) => {
    const started = startChild(name, program, args, env, (error) => failed.reject(error));
    undo.push(() => started.stop());
    return started;
  };
  const service = (name: string, folder: string, env: Record<string, string>) => {
    const started = child(folder, process.execPath, [...NODE_FLAGS, TIDEGAUGE, folder], env);
    return ready(name, started, failed.promise, signal);
  };
  try {
    if (config.sim) await setUpSimulator();
    const shared: Shared = {
      store,
      // The simulator is on this machine, wherever ingest listens.
      broker: config.broker ?? `mqtt://127.0.0.1:${config.mqttPort}`,
      ingest: `http://127.0.0.1:${config.metricsPort}`,
      // Needed even before there are API keys, because keys can be made while ingest runs.
      ingestToken: config.httpToken ?? randomBytes(24).toString('hex'),
    };
    await service('ingest', 'ingest', ingestEnvironment(config, shared));
    const listening = (await service('the API', 'api', apiEnvironment(config, shared))) ?? '';
    if (config.sim) {
      undo.push(() => waitUntilStored(shared.ingest, shared.ingestToken));
      child('sim', PYTHON, ['-m', 'tidegauge_sim', '--quiet'], simulatorEnvironment(config, shared));
    }
    const api = isLoopback(config.listen)
      ? listening
      : listening.replace(/\/\/[^/]*(?=:\d+$)/, '//127.0.0.1');
    process.stdout.write(announcement(config, shared, api));
    return { stop, failed: failed.promise };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits until a child is ready; resolves to the URL where it listens. */
async function ready(
  name: string,
  child: Child,
  failed: Promise<never>,
  signal: AbortSignal,
): Promise<string | null> {
  const waiting = AbortSignal.any([signal, AbortSignal.timeout(START_SECONDS * 1000)]);
  const late = new Promise<never>((_, reject) => {
    waiting.addEventListener('abort', () => {
      const reason = `${name} was not ready within ${START_SECONDS} s; --log-level info shows what it waits for`;
      reject(signal.aborted ? signal.reason : new Error(reason));
    });
  });
  signal.throwIfAborted();
  return Promise.race([child.ready, failed, late]);
}
