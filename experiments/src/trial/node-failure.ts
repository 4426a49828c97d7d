import { setTimeout as delay } from 'node:timers/promises';
import type { Deployment, Faults } from '../model.ts';

/** How long a killed node stays down. */
const DOWN_MS = 10_000;

/** The failure of one store node during a run: it is killed, and started again after ten seconds. */
export class NodeFailure {
  readonly node: string;
  readonly #faults: Faults;
  #killed: number | null = null;
  #restarted: number | null = null;
  #work: Promise<void> = Promise.resolve();

  /** @throws {Error} when no node of the deployment can be killed */
  constructor({ faults }: Pick<Deployment, 'faults'>, trial: number) {
    const nodes = faults?.nodes() ?? [];
    const node = nodes[(trial - 1) % nodes.length];
    if (faults === undefined || node === undefined) {
      throw new Error('no node of this deployment can be killed: use the level none of the factor fault');
    }
    this.node = node;
    this.#faults = faults;
  }

  /** Kills the node. A second call does nothing. */
  begin(): void {
    if (this.#killed !== null) return;
    this.#killed = clock();
    this.#work = this.#run();
    // The error is that of `settled`.
    this.#work.catch(() => {});
  }

  /** Resolves when the node serves again, or was never killed. Rejects when it cannot be killed or started. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** Seconds from the start of the run to the kill and to the end of the restart. null: it was not killed. */
  times(startMs: number): { readonly killed: number; readonly restarted: number } | null {
    if (this.#killed === null || this.#restarted === null) return null;
    return { killed: (this.#killed - startMs) / 1000, restarted: (this.#restarted - startMs) / 1000 };
  }

  async #run(): Promise<void> {
    await this.#faults.kill(this.node);
    await delay(DOWN_MS);
    await this.#faults.restart(this.node);
    this.#restarted = clock();
  }
}

/** Milliseconds of a clock that all processes of this machine share. */
function clock(): number {
  return performance.timeOrigin + performance.now();
}
