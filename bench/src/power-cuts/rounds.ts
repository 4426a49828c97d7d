import { exitText, type RunningProcess, startProcess } from '@tidegauge/process';
import type { Store } from '@tidegauge/storage';
import { deviceOf, Source, timeOf } from './traffic.ts';

/** Rounds of a program that saves a store: round n stores reading n, which is acknowledged when the program has ended. */
export class Rounds extends Source {
  readonly #work: Promise<void>;
  #isStopped = false;
  #running: RunningProcess | null = null;

  /** @param program arguments of node */
  constructor(store: Store, program: readonly string[]) {
    super();
    this.#work = this.#run(store, program).catch((error: Error) => {
      this.failure = error;
    });
  }

  /** Ends the program that runs with SIGKILL. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running?.kill();
    await this.#work;
  }

  async #run(store: Store, program: readonly string[]): Promise<void> {
    for (let number = 0; !this.#isStopped; number++) {
      const series = { device: deviceOf(number), metric: 'number' };
      const time = timeOf(number);
      const stamp = { received: time, boot: null, seq: null, quality: 'ok' } as const;
      await store.readings.write([{ ...series, time, value: number, ...stamp }]);
      this.#running = startProcess({ command: process.execPath, args: program });
      const exit = await this.#running.exited;
      if (exit.code !== 0) throw new Error(`${exitText(exit)}: ${this.#running.log()}`);
      this.acknowledge(number);
    }
  }
}
