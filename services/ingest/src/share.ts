/** What the messages of one client take in the pipeline until they are settled. */
export class Share {
  readings = 0;
  bytes = 0;
  isFull = false;
  /** Called with true when the client has as much as is free, and with false when it has half of that. */
  readonly onFull: (full: boolean) => void;

  constructor(onFull: (full: boolean) => void) {
    this.onFull = onFull;
  }

  /**
   * Counts readings and bytes that arrived, or that were settled (negative). A client has as much as is free: alone half
   * of the room, and each of n clients a part of n + 1. So there is always room for another one.
   *
   * @param freeReadings what is free afterwards; negative: too much is in flight
   */
  count(readings: number, bytes: number, freeReadings: number, freeBytes: number): void {
    this.readings += readings;
    this.bytes += bytes;
    if (!this.isFull) {
      // The end of a message fills nothing, and after the last one nothing would continue the client.
      if (readings < 0 || (this.readings < freeReadings && this.bytes < freeBytes)) return;
      this.isFull = true;
      this.onFull(true);
      return;
    }
    // A client with nothing in flight may always continue.
    if (this.readings > Math.max(0, freeReadings / 2) || this.bytes > Math.max(0, freeBytes / 2)) return;
    this.isFull = false;
    this.onFull(false);
  }
}
