import { now, type Reading } from '@tidegauge/readings';
import type { Late } from './late.ts';
import { USUAL_DELAY_US } from './ledger-file.ts';
import type { SequenceLedger } from './sequence-ledger.ts';

const NOTHING = Number.POSITIVE_INFINITY;
/** Late readings are counted apart: half of the usual delay, because they can wait before they are written. */
const LATE_US = USUAL_DELAY_US / 2;

/** Records the sequence numbers of readings in the ledger, and has them written before their messages are settled. */
export class SequenceRecorder {
  readonly #ledger: SequenceLedger;
  readonly #onRecorded: (oldest: number, late: Late) => void;
  /** The least time of readings whose numbers were recorded since the last `keep`, without late ones. */
  #oldest = NOTHING;
  /** The least time of the late ones of each device. */
  #late = new Map<string, number>();
  /** Readings before it are late. Null: none was recorded since the last `keep`. */
  #usual: number | null = null;

  /**
   * @param onRecorded called by `keep` with the least times of the readings whose numbers were recorded, as for
   *   `LedgerFile.flush`, and when a sensor declared numbers gone
   */
  constructor(ledger: SequenceLedger, onRecorded: (oldest: number, late: Late) => void) {
    this.#ledger = ledger;
    this.#onRecorded = onRecorded;
  }

  /**
   * Records the numbers of readings. Several readings of one message can have the same number.
   *
   * @param isAgain whether they may have been stored before
   * @param isRecovered whether an earlier process may have recorded them
   */
  record(readings: readonly Reading[], isAgain: boolean, isRecovered = false): void {
    this.#usual ??= now() - LATE_US;
    const usual = this.#usual;
    for (let index = 0; index < readings.length; index++) {
      const { device, boot, seq, time } = readings[index]!;
      if (boot === null || seq === null) continue;
      const before = readings[index - 1];
      if (before !== undefined && before.seq === seq && before.boot === boot && before.device === device)
        continue;
      if (time < usual) this.#late.set(device, Math.min(time, this.#late.get(device) ?? time));
      else if (time < this.#oldest) this.#oldest = time;
      if (isRecovered) this.#ledger.confirm(device, boot, seq);
      else this.#ledger.record(device, boot, seq, isAgain);
    }
  }

  /** Records the numbers of readings that are left out of a message, except those that a kept reading has too. */
  recordLeftOut(leftOut: readonly Reading[], kept: readonly Reading[], isAgain: boolean): void {
    const known = new Set(kept.map(sequenceOf));
    this.record(
      leftOut.filter((reading) => !known.has(sequenceOf(reading))),
      isAgain,
    );
  }

  /** Takes what a sensor declares: which numbers it can still send. */
  declare(...declared: Parameters<SequenceLedger['declare']>): void {
    if (this.#ledger.declare(...declared)) this.#onRecorded(NOTHING, new Map());
  }

  /** Has recorded numbers written. Call it before their messages are settled. */
  keep(): void {
    this.#usual = null;
    const [oldest, late] = [this.#oldest, this.#late];
    if (oldest === NOTHING && late.size === 0) return;
    this.#oldest = NOTHING;
    if (late.size > 0) this.#late = new Map();
    this.#onRecorded(oldest, late);
  }
}

function sequenceOf({ device, boot, seq }: Reading): string {
  return `${device} ${boot} ${seq}`;
}
