import { cachedBytes, MAX_CACHED_BYTES } from '../cached-bytes.ts';

/**
 * Row keys of readings: `salt device 00 metric 00 time`. The salt, two bytes of the hash of the device, spreads
 * devices over all regions, whatever their number is now or later. After it, all readings of a device are
 * together, and each series is in the order of time. Names have no byte 00, and UTF-8 sorts like code points.
 */
const SALT_BYTES = 2;
export const SALTS = 2 ** (8 * SALT_BYTES);
export const TIME_BYTES = 8;

/** The beginning of all keys of a device. */
export function devicePrefix(device: string): Buffer {
  const name = Buffer.from(device);
  const prefix = Buffer.alloc(SALT_BYTES + name.length + 1);
  prefix.writeUInt16BE(saltOf(name));
  prefix.set(name, SALT_BYTES);
  return prefix;
}

export function seriesPrefix(device: string, metric: string): Buffer {
  return Buffer.concat([devicePrefix(device), Buffer.from(metric), Buffer.from([0])]);
}

/** The key of a time within a series. It is also the bound of a range of times. */
export function timeKey(series: Buffer, time: number): Buffer {
  const key = Buffer.allocUnsafe(series.length + TIME_BYTES);
  key.set(series);
  // Times are never negative and below 2^53.
  key.writeUInt32BE(Math.floor(time / 2 ** 32), series.length);
  key.writeUInt32BE(time % 2 ** 32, series.length + 4);
  return key;
}

export function timeOf(key: Buffer): number {
  const at = key.length - TIME_BYTES;
  return key.readUInt32BE(at) * 2 ** 32 + key.readUInt32BE(at + 4);
}

/** The end of the range of keys with a prefix. */
export function behind(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix);
  // All prefixes here end with 00.
  end[end.length - 1] = 1;
  return end;
}

/** The parts of a key. */
export function readKey(key: Buffer): { readonly series: Buffer; readonly metric: string } {
  const name = key.indexOf(0, SALT_BYTES) + 1;
  const end = key.length - TIME_BYTES;
  return { series: key.subarray(0, end), metric: key.toString('utf8', name, end - 1) };
}

export function readDevice(key: Buffer): string {
  return key.toString('utf8', SALT_BYTES, key.indexOf(0, SALT_BYTES));
}

/** A bounded cache of the prefixes of series. Usually few series report again and again. */
export class SeriesPrefixes {
  readonly #devices = new Map<string, Map<string, Buffer>>();
  #bytes = 0;

  of(device: string, metric: string): Buffer {
    let metrics = this.#devices.get(device);
    const known = metrics?.get(metric);
    if (known !== undefined) return known;
    if (this.#bytes >= MAX_CACHED_BYTES) {
      this.#devices.clear();
      this.#bytes = 0;
      metrics = undefined;
    }
    if (metrics === undefined) {
      metrics = new Map();
      this.#devices.set(device, metrics);
    }
    const prefix = seriesPrefix(device, metric);
    metrics.set(metric, prefix);
    this.#bytes += cachedBytes(device, metric);
    return prefix;
  }
}

/** The start keys of all regions except the first, for regions with about the same number of devices. */
export function saltSplits(regions: number): Buffer[] {
  return Array.from({ length: regions - 1 }, (_, index) => {
    const split = Buffer.alloc(SALT_BYTES);
    split.writeUInt16BE(Math.floor(((index + 1) * SALTS) / regions));
    return split;
  });
}

/**
 * FNV-1a over the name, with the final mix of MurmurHash3. It is part of the layout and must never change.
 */
function saltOf(name: Buffer): number {
  let hash = 0x811c9dc5;
  for (const byte of name) hash = Math.imul(hash ^ byte, 0x01000193);
  // Without the mix, names that differ only at their end would stay neighbours.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) & (SALTS - 1);
}
