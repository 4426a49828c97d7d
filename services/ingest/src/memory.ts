import { totalmem } from 'node:os';

const MIB = 2 ** 20;
/** With this much memory, each part may have all of its bound. */
const AMPLE = 768 * MIB;

/** Bounds of tables, caches and buffers, MiB. docs/access.md has what happens at each of them. */
const MOST = {
  /** Connections of sensors with TLS. */
  connections: 120,
  /** Packets of sensors that have arrived in part. */
  partialPackets: 8,
  /** Bodies of HTTP requests. */
  bodies: 8,
  /** Unused buffers, in addition to those of messages in flight. */
  unusedBuffers: 16,
  /**
   * Devices with sequence numbers, and their boots. 97,000 devices of 40 clients with names of 20 characters fit: a test
   * measures it. A client has as much as is free, as in the tables below.
   */
  sequences: 32,
  sequenceGaps: 8,
  sensorClocks: 8,
  /** Devices, series and watches: about 15,000 devices with one metric and three rules. */
  alertStates: 16,
  /** Readings that alert rules have not seen yet. */
  alertReadings: 4,
  /** Last kept readings of filters: about 40,000 series with names of 20 characters. */
  filterStates: 8,
  /** Cached topics with their routes: about 25,000 of 40 characters. */
  resolvedTopics: 8,
  /** Cached names of registered devices: 17,000 to 35,000 of 20 characters. */
  knownDevices: 4,
  /** Cached units: 12,000 to 25,000 series. */
  knownUnits: 4,
  /** Devices with messages in the spool, and their newest times. */
  spooledDevices: 8,
};

export type Bounds = Readonly<Record<keyof typeof MOST, number>>;

/**
 * Bounds of parts that keep something for clients, bytes. With less than 768 MiB they are in proportion: a third with the
 * 256 MiB of the Debian package, and a quarter on a board with 1 GB that has a broker. All bounds fit both
 * (test/unit/memory-bounds.test.ts has the sums).
 *
 * @param limit bytes that the process may have
 */
export function boundsFor(limit: number): Bounds {
  const share = Math.min(1, limit / AMPLE);
  const bounds = Object.entries(MOST).map(([part, most]) => [part, Math.floor(most * MIB * share)]);
  return Object.fromEntries(bounds) as Bounds;
}

/** Bytes that this process may have: the limit of its control group, or the memory of the machine. */
export function memoryLimit(): number {
  // Without a limit it is 0 or huge, depending on the version of Node.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** The bounds of this process. */
export const BOUNDS = boundsFor(memoryLimit());
