import { error, type Finding, ok, unknown, warning } from './finding.ts';
import type { HostFiles } from './host-files.ts';
import { count, duration, size } from './units.ts';

/** The file system that a directory lies on. */
export interface Mount {
  readonly type: string;
  readonly options: readonly string[];
  /** `8:1`, the device's number. */
  readonly device: string;
}

export type Medium = 'SD card' | 'eMMC' | 'USB' | 'NVMe' | 'disk' | 'memory' | 'network';

export interface Disk {
  /** As asked for, and where it is measured: that directory, or the nearest above it that is there. */
  readonly directory: string;
  readonly measured: string;
  readonly mount: Mount | null;
  readonly medium: Medium | null;
  /** Bytes and inodes; inodes of file systems without a fixed number are null. */
  readonly free: { readonly bytes: number; readonly total: number; readonly inodes: number | null } | null;
  /** Seconds that one fsync takes; null when none could be done, and why. */
  readonly fsync:
    | { readonly p50: number; readonly p99: number; readonly writes: number }
    | { readonly why: string };
}

/** The mount that a path (real, absolute) lies on: the longest mount point that it begins with (proc(5)). */
export function findMount(files: HostFiles, path: string): Mount | null {
  let found: (Mount & { point: string }) | null = null;
  for (const line of (files.text('/proc/self/mountinfo') ?? '').split('\n')) {
    const [, device, point, options, type, more] =
      /^\d+ \d+ (\d+:\d+) \S+ (\S+) (\S+) .*?- (\S+) \S+ (\S+)/.exec(line) ?? [];
    if (point === undefined) continue;
    const plain = point.replaceAll(/\\([0-7]{3})/g, (_, octal) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    if (path !== plain && !path.startsWith(plain.endsWith('/') ? plain : `${plain}/`)) continue;
    // The same point twice: the later mount covers the earlier one.
    if (found !== null && found.point.length > plain.length) continue;
    // A container may see it read-only; whether the file system itself is, its own options say.
    const own = options!.split(',').filter((option) => option !== 'ro' && option !== 'rw');
    found = {
      point: plain,
      type: type!,
      options: [...new Set([...more!.split(','), ...own])],
      device: device!,
    };
  }
  return found;
}

/** What the device is, by its place in /sys. */
export function findMedium(files: HostFiles, mount: Mount): Medium | null {
  if (mount.type === 'tmpfs' || mount.type === 'ramfs') return 'memory';
  if (/^(nfs4?|cifs|smb3|9p|fuse\.sshfs|ceph)$/.test(mount.type)) return 'network';
  const link = files.link(`/sys/dev/block/${mount.device}`);
  if (link === null) return null;
  const disk = /\/(mmcblk\d+)/.exec(link)?.[1];
  if (disk !== undefined) {
    return files.text(`/sys/block/${disk}/device/type`)?.trim() === 'MMC' ? 'eMMC' : 'SD card';
  }
  if (/\/usb\d+\//.test(link)) return 'USB';
  return link.includes('/nvme') ? 'NVMe' : 'disk';
}

export function checkDisk(disk: Disk): Finding[] {
  return [checkPlace(disk), ...checkMount(disk), checkFree(disk), checkFsync(disk)];
}

function checkPlace({ directory, measured, mount, medium }: Disk): Finding {
  const check = 'disk.directory';
  const on = `${mount?.type ?? 'a file system that is not told'} on ${medium ?? 'a device that is not told'}`;
  if (directory !== measured) {
    return warning(
      check,
      `${directory} does not exist; ${measured} is measured in its place (${on})`,
      'run stacks/bin/board on this board, or name the directory: --data DIR',
    );
  }
  if (medium === 'SD card') {
    return warning(
      check,
      `${directory} lies on the SD card (${on}): slow to commit, and databases wear it out`,
      'mount a USB stick or disk there, as in the study',
    );
  }
  return ok(check, `${directory}: ${on}`);
}

const NO_OWNERS = ['vfat', 'exfat', 'msdos', 'ntfs', 'ntfs3', 'fuseblk'];

function* checkMount({ mount, medium, measured }: Disk): Iterable<Finding> {
  const check = 'disk.filesystem';
  if (mount === null) {
    yield unknown(check, `/proc/self/mountinfo does not tell what ${measured} lies on`, null);
    return;
  }
  const { type, options } = mount;
  const ext4 = 'format it as ext4: mkfs.ext4 -L tidegauge DEVICE, and mount it with noatime';
  if (options.includes('ro')) {
    yield error(
      check,
      `${measured} is mounted read-only, as a file system that had errors is`,
      'check it (fsck) and mount it rw',
    );
  } else if (NO_OWNERS.includes(type)) {
    yield error(
      check,
      `${type} keeps no owners and no journal: databases refuse it, or lose it with the power`,
      ext4,
    );
  } else if (medium === 'memory') {
    yield error(
      check,
      `${type} is memory: what is stored there ends with the power`,
      'name a directory on a disk: --data DIR',
    );
  } else if (type === 'overlay') {
    yield warning(
      check,
      "it is a container's own layer, or a read-only root with a layer in memory",
      'mount the data directory into the container, or a disk over it',
    );
  } else if (medium === 'network') {
    yield warning(
      check,
      `${type}: a commit waits for the network, and locks may not hold`,
      "use a disk of the board's own",
    );
  } else if (options.some((option) => option === 'nobarrier' || option === 'barrier=0')) {
    yield error(
      check,
      `${type} without barriers: a commit can be lost with the power`,
      'remount it without nobarrier or barrier=0',
    );
  } else if (options.includes('sync')) {
    yield warning(check, `${type} with sync: every write waits for the device`, 'remount it without sync');
  } else yield ok(check, `${type}, ${options.slice(0, 4).join(',')}`);
}

const LEAST_BYTES = 2 * 2 ** 30;
const LEAST_SHARE = 0.1;

function checkFree({ free, measured }: Disk): Finding {
  const check = 'disk.free';
  if (free === null) return unknown(check, `${measured} does not tell its free space`, null);
  const { bytes, total, inodes } = free;
  const says = `${size(bytes)} of ${size(total)} free`;
  const mend = 'make room (docker system prune, older readings) or use a larger disk';
  if (inodes !== null && inodes < 10_000)
    return error(check, `${says}, but only ${count(inodes)} inodes`, mend);
  if (bytes < LEAST_BYTES / 8) return error(check, `${says}: databases stop when it is full`, mend);
  return bytes < LEAST_BYTES || bytes < total * LEAST_SHARE ? warning(check, says, mend) : ok(check, says);
}

const SLOW_P50 = 0.05;
const SLOW_P99 = 0.25;
/** No flash writes in less: the device says yes from a memory of its own. */
const UNBELIEVABLE = 0.000_02;

function checkFsync({ fsync, measured, medium }: Disk): Finding {
  const check = 'disk.fsync';
  if ('why' in fsync) {
    return unknown(
      check,
      `no fsync measured in ${measured}: ${fsync.why}`,
      'run as a user who may write there, or name another: --data DIR',
    );
  }
  const { p50, p99, writes } = fsync;
  const says =
    `fsync takes ${duration(p50)} (p99 ${duration(p99)}, ${count(writes)} writes of 4 KiB): ` +
    `at most ${count(1 / p50)} commits/s one after the other; at a trickle a reading waits ${duration(p99)} at worst`;
  const mend = 'use a USB 3 SSD or NVMe; a larger batch hides it under load (PACE=20ms)';
  if (medium !== 'memory' && p50 < UNBELIEVABLE) {
    return warning(
      check,
      `${says}; no device is that fast: it confirms before it has stored`,
      'turn its write cache off, or trust its battery',
    );
  }
  return p50 > SLOW_P50 || p99 > SLOW_P99 ? warning(check, says, mend) : ok(check, says);
}
