import type { ReadingCounts } from '@tidegauge/readings';

/**
 * Where every reading that came in is now:
 * received = stored + duplicate + quarantined + spooled + in flight, at every moment. Each side of the
 * identity is counted where it happens and none is derived from the others, so the identity is a check.
 * A message that cannot be decoded counts as one reading.
 */
export class Accounts {
  received = 0;
  stored = 0;
  duplicate = 0;
  inFlight = 0;
  /** In the spool now. */
  spooled = 0;
  /** Put into the spool since the start. */
  spooledEver = 0;
  messages = 0;
  retainedSkipped = 0;
  readonly quarantinedByReason = new Map<string, number>();

  get quarantined(): number {
    let sum = 0;
    for (const count of this.quarantinedByReason.values()) sum += count;
    return sum;
  }

  receive(readings: number): void {
    this.received += readings;
    this.inFlight += readings;
  }

  store(stored: number, duplicate: number): void {
    this.stored += stored;
    this.duplicate += duplicate;
    this.inFlight -= stored + duplicate;
  }

  spool(readings: number): void {
    this.spooled += readings;
    this.spooledEver += readings;
    this.inFlight -= readings;
  }

  /** Taken out of the spool, on the way into the store. */
  unspool(readings: number): void {
    this.spooled -= readings;
    this.inFlight += readings;
  }

  /** Found in the spool at the start: an earlier process received and acknowledged them. */
  recover(readings: number): void {
    this.received += readings;
    this.spooled += readings;
  }

  quarantine(reason: string, readings: number): void {
    this.quarantinedByReason.set(reason, (this.quarantinedByReason.get(reason) ?? 0) + readings);
    this.inFlight -= readings;
  }

  counts(): ReadingCounts {
    const { received, stored, duplicate, quarantined, spooled, inFlight } = this;
    return { received, stored, duplicate, quarantined, spooled, inFlight };
  }
}
