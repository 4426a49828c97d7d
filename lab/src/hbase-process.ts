import type { ServerProcess } from '@tidegauge/process';

/** A server of HBase, of which a test may do what happens to servers. */
export interface HbaseProcess {
  /** `master 1`, `region server 2`. */
  readonly name: string;
  /** Where it listens. */
  readonly port: number;
  readonly pid: number;
  readonly running: boolean;
  /** Ends it as an operator would. */
  stop(): Promise<void>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
  /** Ends it as a power cut would if it runs, and starts it again with its data. */
  restart(): Promise<void>;
  /** Stops it from running on (SIGSTOP), as a long garbage collection or a swapping machine does. */
  pause(): void;
  /** Lets it run on (SIGCONT). */
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
