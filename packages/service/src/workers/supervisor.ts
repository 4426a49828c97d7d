import cluster, { type Worker } from 'node:cluster';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import { EXIT } from '../program/exit-codes.ts';
import { ReportedError } from '../program/report-error.ts';
import { Channel } from './channel.ts';
import { watchPassedConnections } from './passed-connections.ts';

/** A worker that ran for less than this time counts as one that cannot work. */
const STEADY_MS = 60_000;
const FIRST_WAIT_MS = 100;
const MOST_WAIT_MS = 30_000;

/** A running worker process, for its parent. */
export interface WorkerLink {
  readonly id: number;
  readonly channel: Channel;
  /** Ends it with SIGKILL. It is replaced. */
  kill(): void;
}

/** A part of the parent process that workers share. */
export interface Desk {
  /** Adds handlers to the channel of a new worker. Returns what to do when the worker has ended, in any way. */
  attach(worker: WorkerLink): () => void;
}

export interface SupervisorOptions {
  readonly workers: number;
  readonly desks: readonly Desk[];
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Runs this program in several worker processes, which share their listening sockets: this process accepts connections,
 * and workers receive them in turn. A worker that ends is replaced after 100 ms, and after twice the time for each
 * further one that did not run for a minute, up to 30 s.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #running = new Set<Worker>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #waitMs = FIRST_WAIT_MS;
  #exits = 0;
  #keeps = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { metrics } = options;
    metrics.gauge('tidegauge_workers', 'Worker processes that run', () => [{ value: this.#running.size }]);
    metrics.counter('tidegauge_worker_exits_total', 'Worker processes that ended and were replaced', () => [
      { value: this.#exits },
    ]);
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({ args: process.argv.slice(2) });
  }

  /**
   * Starts the workers, and resolves when they listen, to the URL of the first. The first one starts alone, so that it
   * changes the schema of the store alone, and reports a mistake once.
   *
   * @throws {ReportedError} when the first one ends before it listens; it has printed the reason
   */
  async start(): Promise<string> {
    const url = await this.#run();
    this.#keeps = true;
    const others = Array.from({ length: this.#options.workers - 1 }, () => this.#run());
    // One that ends meanwhile is replaced.
    await Promise.allSettled(others);
    return url;
  }

  /** Stops all workers as SIGTERM does. Resolves when they have ended. */
  async stop(): Promise<void> {
    this.#keeps = false;
    for (const timer of this.#timers) clearTimeout(timer);
    const ended = [...this.#running].map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    for (const worker of this.#running) worker.process.kill('SIGTERM');
    await Promise.all(ended);
  }

  /** Starts a worker. Resolves to its URL when it listens, and rejects when it ends before. */
  #run(): Promise<string> {
    // The parent stops its workers, and a worker ends when its parent has ended.
    const worker = cluster.fork({ STOP_WITH_STDIN: '' });
    const channel = new Channel({
      send: (message, sent) => {
        if (worker.isConnected()) worker.send(message as object, sent);
      },
      onMessage: (listener) => worker.on('message', listener),
    });
    const closePassed = watchPassedConnections(worker.process);
    const startedAt = performance.now();
    this.#running.add(worker);
    const link = { id: worker.id, channel, kill: () => void worker.process.kill('SIGKILL') };
    const detached = this.#options.desks.map((desk) => desk.attach(link));
    // For example a message to a worker that has just ended.
    worker.on('error', (err) => this.#options.logger.debug({ err }, 'message to a worker failed'));
    return new Promise((resolve, reject) => {
      worker.on('message', ({ ready, url }: { readonly ready?: boolean; readonly url?: string }) => {
        if (ready === true) resolve(url ?? '');
      });
      worker.once('exit', (code, signal) => {
        this.#running.delete(worker);
        channel.close();
        closePassed();
        for (const detach of detached) detach();
        reject(new ReportedError(code || EXIT.FAILED));
        if (this.#keeps)
          this.#replace(performance.now() - startedAt, { pid: worker.process.pid, code, signal });
      });
    });
  }

  #replace(ranMs: number, ended: object): void {
    this.#exits += 1;
    if (ranMs >= STEADY_MS) this.#waitMs = FIRST_WAIT_MS;
    const waitMs = this.#waitMs;
    this.#waitMs = Math.min(2 * waitMs, MOST_WAIT_MS);
    this.#options.logger.warn({ ...ended, ranMs: Math.round(ranMs), waitMs }, 'worker ended and is replaced');
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#run().catch(() => {});
    }, waitMs);
    this.#timers.add(timer);
  }
}
