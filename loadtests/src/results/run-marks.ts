import { remoteWrite, type Sample } from './remote-write.ts';

/** A phase of a load test or of an experiment. */
export type Phase = 'deploy' | 'load' | 'warm-up' | 'run' | 'verify';

/** Figures of a run of an experiment that Prometheus receives. */
export interface RunFigures {
  /** Operations that succeeded. */
  readonly operations: number;
  /** Duration of the run. */
  readonly seconds: number;
  readonly valid: boolean;
}

/** Below the five minutes after which Prometheus takes a series as ended, so that a lost sample does no harm. */
const REPEAT_MS = 5000;
/** How long nothing is sent after a failure: each failure can take seconds. */
const QUIET_MS = 60_000;

/**
 * Shows phases and results in Prometheus, for the dashboard Load test. A Prometheus that does not answer does not disturb
 * the run: the first failure is reported, and the run continues.
 */
export class RunMarks {
  readonly #prometheus: string;
  readonly #say: (line: string) => void;
  #reported = false;
  /** Nothing is sent before this time. */
  #quietUntil = 0;
  #last = 0;

  /** @param prometheus the URL of a Prometheus with `--web.enable-remote-write-receiver` */
  constructor(prometheus: string, say: (line: string) => void) {
    this.#prometheus = prometheus;
    this.#say = say;
  }

  /** Does `work`, with `tidegauge_run_phase` at 1 from its start to its end. */
  async during<T>(phase: Phase, testid: string, work: () => Promise<T>): Promise<T> {
    const labels = { __name__: 'tidegauge_run_phase', phase, testid };
    const mark = (value: number | null) => this.#write([{ labels, value }]);
    let writing = mark(1);
    const timer = setInterval(() => {
      writing = writing.then(() => mark(1));
    }, REPEAT_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      await writing;
      await mark(null);
    }
  }

  /** Sends the figures of a run. They have one sample, at the end of the run. */
  async result(testid: string, { operations, seconds, valid }: RunFigures): Promise<void> {
    const figures = [
      ['tidegauge_run_operations', operations],
      ['tidegauge_run_operations_per_second', seconds > 0 ? operations / seconds : 0],
      ['tidegauge_run_duration_seconds', seconds],
      ['tidegauge_run_valid', valid ? 1 : 0],
    ] as const;
    await this.#write(figures.map(([name, value]) => ({ labels: { __name__: name, testid }, value })));
  }

  async #write(samples: readonly Omit<Sample, 'time'>[]): Promise<void> {
    if (Date.now() < this.#quietUntil) return;
    // Prometheus refuses a second value of a series at one time.
    this.#last = Math.max(Date.now(), this.#last + 1);
    const time = this.#last;
    try {
      await remoteWrite(
        this.#prometheus,
        samples.map((sample) => ({ ...sample, time })),
      );
    } catch (error) {
      this.#quietUntil = Date.now() + QUIET_MS;
      if (this.#reported) return;
      this.#reported = true;
      this.#say(`the dashboard lacks phases of this run: ${(error as Error).message}`);
    }
  }
}
