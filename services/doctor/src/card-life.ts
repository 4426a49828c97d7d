import type { Disk } from './disk.ts';
import { type Finding, ok, unknown, warning } from './finding.ts';
import type { HostFiles } from './host-files.ts';
import { duration, size } from './units.ts';

/** What the kernel has counted for a partition since the board started. */
export interface DiskWrites {
  readonly bytes: number;
  readonly uptimeSeconds: number;
}

const SECTOR_BYTES = 512;
const DAY = 86_400;
const YEAR = 365 * DAY;
/** A shorter time shows little of a day. */
const LEAST_UPTIME = 3600;
const FEW_YEARS = 3;

/**
 * Reads the bytes written to the partition of the data directory, by all programs. Null where the kernel does not count
 * them. Source: Documentation/block/stat.rst of the kernel, field 7, in units of 512 bytes.
 */
export function readDiskWrites(files: HostFiles, { mount }: Disk): DiskWrites | null {
  if (mount === null) return null;
  const fields = files.text(`/sys/dev/block/${mount.device}/stat`)?.trim().split(/\s+/) ?? [];
  const [bytes, uptimeSeconds] = [
    Number(fields[6] ?? Number.NaN) * SECTOR_BYTES,
    Number.parseFloat(files.text('/proc/uptime') ?? ''),
  ];
  return Number.isFinite(bytes) && uptimeSeconds > 0 ? { bytes, uptimeSeconds } : null;
}

/**
 * Estimates for how long a card of the stated endurance (terabytes written, TBW) lasts at the present rate of writing. It
 * does not know what was written before the board started. What the card writes on its own is part of the TBW.
 */
export function checkCardLife(writes: DiskWrites | null, terabytes: number | null): Finding[] {
  const check = 'disk.life';
  if (writes === null) {
    if (terabytes === null) return [];
    return [
      unknown(check, 'the kernel has no count of the writes to this disk, so its life is not known', null),
    ];
  }
  const { bytes, uptimeSeconds } = writes;
  if (uptimeSeconds < LEAST_UPTIME) {
    const message = `the board started ${duration(uptimeSeconds)} ago, which is too short to estimate the life of the disk`;
    return [unknown(check, message, 'run the doctor again when the sensors have sent for a day')];
  }
  const perDay = (bytes / uptimeSeconds) * DAY;
  const rate = `${size(perDay)} are written to the disk of the data each day`;
  if (terabytes === null)
    return [ok(check, `${rate}; --card-tbw with the endurance of the card gives its life`)];
  const years = (terabytes * 1e12) / perDay / 365;
  const message = `${rate}: a card for ${terabytes} TB lasts about ${life(years * YEAR)}`;
  if (years >= FEW_YEARS) return [ok(check, message)];
  const fix =
    'use a disk or a card of high endurance, filter readings (filter in the routes file), or write larger batches';
  return [warning(check, message, fix)];
}

function life(seconds: number): string {
  if (seconds >= 100 * YEAR) return 'a hundred years or more';
  if (seconds >= YEAR) return `${(seconds / YEAR).toFixed(1)} years`;
  return `${Math.max(1, Math.round(seconds / DAY))} days`;
}
