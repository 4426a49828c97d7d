/** Length of the steps in which the rate is compared, in microseconds. */
const STEP_US = 1_000_000;
/** Share of the rate before the failure at which a store has recovered. */
const RECOVERED = 0.9;
/** A longer run is not looked at beyond this: 12 hours. */
const MOST_STEPS = 43_200;

export interface Recovery {
  /** Successful operations per second before the failure. */
  readonly rateBefore: number;
  /**
   * Seconds from the failure to the first second in which the rate is 90 % of the rate before again. 0: it was never
   * lower. null: it stayed lower until the end of the run.
   */
  readonly recoverySeconds: number | null;
  /** Share of the operations that ended after the failure and failed, 0 to 1. null: none ended. */
  readonly failedShare: number | null;
}

/** Finds the recovery of a store in the rows of a run. Rows arrive as text, in any order. */
export class RecoveryMeter {
  readonly #failureUs: number;
  /** Successful operations by whole seconds from the failure on. */
  readonly #after: number[] = [];
  #before = 0;
  #firstUs = Number.POSITIVE_INFINITY;
  #lastUs = 0;
  #ended = 0;
  #failed = 0;

  /** @param failureSeconds from the zero of `start_us` */
  constructor(failureSeconds: number) {
    this.#failureUs = failureSeconds * 1e6;
  }

  /** @param text whole lines with the columns of an archived run, without the header */
  add(text: string): void {
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const [start, , latency, status, , part] = line.split(',');
      if (part !== '0') continue;
      const end = Number(start) + Number(latency);
      this.#firstUs = Math.min(this.#firstUs, Number(start));
      this.#lastUs = Math.max(this.#lastUs, end);
      this.#count(end, status === 'OK');
    }
  }

  result(): Recovery {
    const seconds = (this.#failureUs - this.#firstUs) / 1e6;
    const rateBefore = seconds > 0 ? this.#before / seconds : 0;
    const enough = RECOVERED * rateBefore * (STEP_US / 1e6);
    // The last second is not a whole one, so its rate is not known.
    const whole = Math.floor((this.#lastUs - this.#failureUs) / STEP_US);
    const steps = Array.from({ length: Math.min(whole, MOST_STEPS) }, (_, step) => this.#after[step] ?? 0);
    const dip = steps.findIndex((done) => done < enough);
    const back = dip === -1 ? 0 : steps.findIndex((done, step) => step > dip && done >= enough);
    return {
      rateBefore,
      recoverySeconds: back === -1 ? null : (back * STEP_US) / 1e6,
      failedShare: this.#ended === 0 ? null : this.#failed / this.#ended,
    };
  }

  #count(end: number, succeeded: boolean): void {
    if (end < this.#failureUs) {
      if (succeeded) this.#before += 1;
      return;
    }
    this.#ended += 1;
    if (!succeeded) this.#failed += 1;
    const step = Math.floor((end - this.#failureUs) / STEP_US);
    if (succeeded && step < MOST_STEPS) this.#after[step] = (this.#after[step] ?? 0) + 1;
  }
}
