import type { ReadingCounts } from '@tidegauge/readings';

/**
 * Counts where every received reading is: received = stored + duplicate + filtered + quarantined + spooled + in flight,
 * at every moment. Each term is counted where the event happens, and none is derived from the others, so the equation is a
 * check. A message that cannot be decoded counts as one reading.
 */
export class Accounts {
  received = 0;
  stored = 0;
  duplicate = 0;
  /** Readings that the filter of their route left out. */
  filtered = 0;
  inFlight = 0;
  /** Readings in the spool now. */
  spooled = 0;
  /** Readings written to the spool since the start. */
  spooledEver = 0;
  messages = 0;
  retainedSkipped = 0;
  /** Messages that decoders with state sent: requests for births. */
  replies = 0;
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

  filter(readings: number): void {
    this.filtered += readings;
    this.inFlight -= readings;
  }

  spool(readings: number): void {
    this.spooled += readings;
    this.spooledEver += readings;
    this.inFlight -= readings;
  }

  /** Readings leave the spool on their way to the store. */
  unspool(readings: number): void {
    this.spooled -= readings;
    this.inFlight += readings;
  }

  /** Readings found in the spool at the start, which an earlier process received and acknowledged. */
  recover(readings: number): void {
    this.received += readings;
    this.spooled += readings;
  }

  quarantine(reason: string, readings: number): void {
    this.quarantinedByReason.set(reason, (this.quarantinedByReason.get(reason) ?? 0) + readings);
    this.inFlight -= readings;
  }

  counts(): ReadingCounts {
    const { received, stored, duplicate, filtered, quarantined, spooled, inFlight } = this;
    return { received, stored, duplicate, filtered, quarantined, spooled, inFlight };
  }
}
