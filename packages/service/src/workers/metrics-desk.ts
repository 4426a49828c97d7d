import { type Aggregator, AggregatorRegistry, type Registry } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import type { Desk, WorkerLink } from './supervisor.ts';

/** How often the counters of workers are saved. What a killed worker counted after that is lost. */
const SAVE_MS = 5000;
/** A worker that worked and then has not answered for so many times, a minute, does not work any more. */
const MOST_SILENT = 12;
/** How long a page waits for a worker. Then the figures that were saved last are used. */
const ANSWER_MS = 1000;

/** What `Registry.getMetricsAsJSON` returns. */
interface MetricDocument {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly unknown[];
}

type Snapshot = readonly MetricDocument[];

/** How values of one metric become one value. All others are added. */
const AGGREGATORS: Readonly<Record<string, Aggregator>> = {
  tidegauge_board_info: 'first',
  tidegauge_certificate_expiry_timestamp_seconds: 'min',
  process_start_time_seconds: 'min',
  process_max_fds: 'first',
  nodejs_version_info: 'first',
};
const MOST = /^nodejs_eventloop_lag_/;

interface Watched {
  readonly worker: WorkerLink;
  saved: Snapshot;
  /** The call that is not answered yet. */
  asked: Promise<void> | null;
  silent: number;
}

/**
 * One page of metrics for all processes of a service: sums of counters, histograms and gauges. Counters of workers that
 * have ended stay in the sums, so they never become smaller.
 */
export class MetricsDesk implements Desk {
  readonly #metrics: Metrics;
  readonly #workers = new Set<Watched>();
  #ended: Snapshot = [];
  readonly #timer: NodeJS.Timeout;

  /** @param metrics those of the parent process */
  constructor(metrics: Metrics, saveMs = SAVE_MS) {
    this.#metrics = metrics;
    this.#timer = setInterval(() => this.#save(), saveMs).unref();
  }

  attach(worker: WorkerLink): () => void {
    const watched: Watched = { worker, saved: [], asked: null, silent: 0 };
    this.#workers.add(watched);
    worker.channel.on('metrics.page', () => this.page());
    return () => {
      this.#workers.delete(watched);
      const totals = watched.saved.filter(({ type }) => type === 'counter' || type === 'histogram');
      this.#ended = merged([this.#ended, totals]).getMetricsAsArray() as unknown as Snapshot;
    };
  }

  /** The Prometheus text format, version 0.0.4. */
  async page(): Promise<string> {
    await Promise.all([...this.#workers].map((watched) => this.#ask(watched)));
    const own = await snapshotOf(this.#metrics);
    return merged([own, ...[...this.#workers].map(({ saved }) => saved), this.#ended]).metrics();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #save(): void {
    for (const watched of this.#workers) {
      const isSilent = watched.asked !== null && watched.saved.length > 0;
      watched.silent = isSilent ? watched.silent + 1 : 0;
      if (watched.silent >= MOST_SILENT) watched.worker.kill();
      else void this.#ask(watched);
    }
  }

  /** Saves the figures of a worker. Resolves after `ANSWER_MS` at the latest. */
  async #ask(watched: Watched): Promise<void> {
    watched.asked ??= watched.worker.channel
      .call<Snapshot>('metrics', null)
      .then(
        (snapshot) => {
          watched.saved = snapshot;
        },
        () => {},
      )
      .finally(() => {
        watched.asked = null;
      });
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, ANSWER_MS);
    await Promise.race([watched.asked, late.promise]);
    clearTimeout(timer);
  }
}

/** Answers the questions of the desk, and has it make the page. For a worker. */
export function shareMetrics(metrics: Metrics, channel: WorkerLink['channel']): void {
  channel.on('metrics', () => snapshotOf(metrics));
  metrics.pageFrom(() => channel.call<string>('metrics.page', null));
}

async function snapshotOf(metrics: Metrics): Promise<Snapshot> {
  return (await metrics.registry.getMetricsAsJSON()) as unknown as Snapshot;
}

function merged(snapshots: readonly Snapshot[]): Registry {
  const all = snapshots.map((snapshot) =>
    snapshot.map(({ name, help, type, values }) => ({
      ...{ name, help, type, values },
      aggregator: aggregatorOf(name),
    })),
  );
  return AggregatorRegistry.aggregate(all);
}

function aggregatorOf(name: string): Aggregator {
  return AGGREGATORS[name] ?? (MOST.test(name) ? 'max' : 'sum');
}
