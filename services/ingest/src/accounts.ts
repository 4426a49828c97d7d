import type { ReadingCounts } from '@tidegauge/readings';

/**
 * Where every reading that came in is now (DESIGN section 5):
 * received = stored + duplicate + quarantined + spooled + in flight, at every moment. Each side of the
 * identity is counted where it happens and none is derived from the others, so the identity is a check.
 * A message that cannot be decoded counts as one reading.
 */
export class Accounts {
  received = 0;
  stored = 0;
  duplicate = 0;
  inFlight = 0;
  /** No spool yet: it stays 0 and is counted all the same, so that the identity does not change its form. */
  spooled = 0;
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

  quarantine(reason: string, readings: number): void {
    this.quarantinedByReason.set(reason, (this.quarantinedByReason.get(reason) ?? 0) + readings);
    this.inFlight -= readings;
  }

  counts(): ReadingCounts {
    const { received, stored, duplicate, quarantined, spooled, inFlight } = this;
    return { received, stored, duplicate, quarantined, spooled, inFlight };
  }
}
