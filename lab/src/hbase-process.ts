import type { ServerProcess } from '@tidegauge/process';

/** A server of HBase. A test can simulate failures with it. */
export interface HbaseProcess {
  /** `master 1`, `region server 2`. */
  readonly name: string;
  /** The port on which it listens. */
  readonly port: number;
  readonly pid: number;
  readonly running: boolean;
  /** Stops it in an orderly way. */
  stop(): Promise<void>;
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /** Kills it if it runs, and starts it again with its data. */
  restart(): Promise<void>;
  /** Suspends it (SIGSTOP), as a long garbage collection or swapping would. */
  pause(): void;
  /** Continues it after `pause` (SIGCONT). */
  resume(): void;
  log(): string;
}

export class LaunchedProcess implements HbaseProcess {
  readonly name: string;
  readonly port: number;
  readonly #launch: () => Promise<ServerProcess>;
  #process: ServerProcess | null = null;

  constructor(name: string, port: number, launch: () => Promise<ServerProcess>) {
    this.name = name;
    this.port = port;
    this.#launch = launch;
  }

  get pid(): number {
    return this.#process?.pid ?? -1;
  }

  get running(): boolean {
    return this.#process?.running === true;
  }

  log(): string {
    return this.#process?.log() ?? '';
  }

  async stop(): Promise<void> {
    this.resume();
    await this.#process?.stop();
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  async restart(): Promise<void> {
    await this.kill();
    this.#process = await this.#launch();
  }

  pause(): void {
    if (this.running) process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    if (this.running) process.kill(this.pid, 'SIGCONT');
  }
}
