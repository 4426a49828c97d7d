// First: modules of ingest take functions of Node when they are loaded.
import './world.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@tidegauge/storage';
import { Alerts } from '../../src/alerts/alerts.ts';
import type { Retention } from '../../src/retention/retention.ts';
import { RollupWorker } from '../../src/rollup-worker.ts';
import { alertsOf, LOGGER, type ProcessOptions, type RetentionPlan, retentionOf } from './ingest-process.ts';

/** How long it waits until it opens its store again, milliseconds. */
const RETRY_MS = 1000;
const HOLDER = 'replica';

/** Another process with the same store, without messages: what only one of both does at a time, by leases. */
export class Replica {
  readonly #store: Store;
  readonly #options: RetentionPlan & Pick<ProcessOptions, 'alerts' | 'notify'>;
  #alerts: Alerts | null = null;
  #rollups: RollupWorker | null = null;
  #retention: Retention | null = null;
  #isStopping = false;

  /** @param store not open yet */
  constructor(store: Store, options: RetentionPlan & Pick<ProcessOptions, 'alerts' | 'notify'>) {
    this.#store = store;
    this.#options = options;
  }

  async start(): Promise<void> {
    while (!(await this.#open())) await sleep(RETRY_MS);
    if (this.#isStopping) return;
    const { alerts, notify } = this.#options;
    if (alerts !== null) {
      const parts = { store: this.#store, holder: HOLDER, isShared: true, notify, isReceiving: () => true };
      this.#alerts = new Alerts(alertsOf(alerts, parts));
      this.#alerts.start();
    }
    if (this.#store.capabilities.rollups) {
      this.#rollups = new RollupWorker(this.#store, HOLDER, LOGGER);
      this.#rollups.start();
    }
    this.#retention = retentionOf(this.#store, HOLDER, this.#options);
    this.#retention?.start();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#rollups?.stop();
    await this.#retention?.stop();
    await this.#alerts?.stop();
  }

  async #open(): Promise<boolean> {
    try {
      await this.#store.open();
      await this.#store.migrate();
      return true;
    } catch {
      return false;
    }
  }
}
