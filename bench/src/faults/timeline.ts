import { setTimeout as sleep } from 'node:timers/promises';
import { openStore, type Store } from '@tidegauge/storage';
import { LedgerWatch } from './ledger-watch.ts';
import type { Scene } from './scene.ts';
import { METRIC } from './streams.ts';
import type { Traffic } from './traffic.ts';

const SAMPLE_MS = 200;

/** The state of a run at one time. */
export interface Sample {
  /** Seconds since the start of the traffic. */
  readonly at: number;
  /** Messages since the start. */
  readonly sent: number;
  readonly acknowledged: number;
  /** Readings since the start, without duplicates as far as the store counts them. */
  readonly stored: number;
  readonly spooled: number;
  readonly inFlight: number;
  /** Of all ingest processes. */
  readonly residentBytes: number;
  /** Everything that was due before this time is stored, seconds since the start. -1: not known. */
  readonly storedUntil: number;
}

/** Samples of a run, one in 200 ms, or slower when a part does not answer. */
export class Timeline {
  readonly samples: Sample[] = [];
  /** Samples in which the ledger of a replica did not add up. */
  unbalanced = 0;
  readonly #scene: Scene;
  readonly #traffic: Traffic;
  readonly #device: string;
  /** Null: the ledgers of several replicas cannot be compared. */
  readonly watch: LedgerWatch | null;
  readonly #started: number;
  readonly #epoch: number;
  /** The time of the newest stored reading of a device, microseconds since the epoch. */
  #newest = 0;
  #running = true;
  readonly #loops: Promise<unknown>;

  /** @param epoch the time of the first reading, microseconds since the epoch */
  constructor(scene: Scene, traffic: Traffic, epoch: number) {
    this.#scene = scene;
    this.#traffic = traffic;
    this.#device = traffic.flows[0]!.stream.devicesOf(0)[0]!;
    this.watch = scene.replicas.length > 1 ? null : new LedgerWatch(traffic.flows);
    this.#started = performance.now();
    this.#epoch = epoch;
    this.#loops = Promise.all([this.#sampleAll(), this.#watch()]);
  }

  /** Seconds since the start. */
  get now(): number {
    return (performance.now() - this.#started) / 1000;
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#loops;
  }

  async #sampleAll(): Promise<void> {
    while (this.#running) {
      this.samples.push(await this.#sample());
      await sleep(SAMPLE_MS);
    }
  }

  async #sample(): Promise<Sample> {
    const { replicas } = this.#scene;
    const ledgers = await Promise.all(replicas.map((replica) => replica.ledger()));
    const { now: at } = this;
    let [spooled, inFlight, oldest] = [0, 0, 0];
    for (const ledger of ledgers) {
      spooled += ledger?.readings.spooled ?? 0;
      inFlight += ledger?.readings.inFlight ?? 0;
      oldest = Math.max(oldest, ledger?.oldestUnstoredSeconds ?? Number.POSITIVE_INFINITY);
      if (ledger?.balanced === false) this.unbalanced++;
      if (ledger !== null) this.watch?.look(ledger);
    }
    return {
      at,
      sent: this.#traffic.sent,
      acknowledged: this.#traffic.acknowledged,
      stored: replicas.reduce((sum, { counts }) => sum + counts.stored, 0),
      spooled,
      inFlight,
      residentBytes: replicas.reduce((sum, replica) => sum + replica.residentBytes, 0),
      storedUntil: Math.max(-1, Math.min((this.#newest - this.#epoch) / 1e6, at - oldest)),
    };
  }

  /** Reads one device from the store again and again. The store can be unavailable, or on another disk. */
  async #watch(): Promise<void> {
    let open: { readonly url: string; readonly store: Store } | null = null;
    while (this.#running) {
      try {
        const { storeUrl: url } = this.#scene;
        if (open !== null && open.url !== url) {
          await open.store.close();
          open = null;
        }
        open ??= { url, store: await openStore(url) };
        for (const { metric, time } of await open.store.readings.latest([this.#device]))
          if (metric === METRIC) this.#newest = Math.max(this.#newest, time);
      } catch {
        // It is unavailable, which is what the faults are for.
      }
      await sleep(SAMPLE_MS);
    }
    await open?.store.close();
  }
}
