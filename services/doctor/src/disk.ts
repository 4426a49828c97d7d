import { error, type Finding, ok, unknown, warning } from './finding.ts';
import type { HostFiles } from './host-files.ts';
import { count, duration, size } from './units.ts';

/** The file system of a directory. */
export interface Mount {
  readonly type: string;
  readonly options: readonly string[];
  /** `8:1`, the device's number. */
  readonly device: string;
}

export type Medium = 'SD card' | 'eMMC' | 'USB' | 'NVMe' | 'disk' | 'memory' | 'network';

export interface Disk {
  /** The requested directory, and the measured one: the same, or its nearest existing parent. */
  readonly directory: string;
  readonly measured: string;
  readonly mount: Mount | null;
  readonly medium: Medium | null;
  /** Free and total bytes, and free inodes; null for file systems without a fixed number. */
  readonly free: { readonly bytes: number; readonly total: number; readonly inodes: number | null } | null;
  /** Duration of one fsync, seconds, or the reason why it was not measured. */
  readonly fsync:
    | { readonly p50: number; readonly p99: number; readonly writes: number }
    | { readonly why: string };
}

/** Finds the mount of a real absolute path: the longest mount point that is its prefix (proc(5)). */
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
    // For two mounts on one mount point, the later one hides the earlier one.
    if (found !== null && found.point.length > plain.length) continue;
    // A container may mount it read-only. Its superblock options show whether the file system itself is read-only.
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

/** Determines the kind of device from its path in /sys. */
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
  const on = `${mount?.type ?? 'an unknown file system'} on ${medium ?? 'an unknown device'}`;
  if (directory !== measured) {
    return warning(
      check,
      `${directory} does not exist; ${measured} is measured instead (${on})`,
      'run stacks/bin/board on this board, or set the directory: --data DIR',
    );
  }
  if (medium === 'SD card') {
    return warning(
      check,
      `${directory} is on the SD card (${on}): commits are slow, and databases wear the card out`,
      'mount a USB disk there',
    );
  }
  return ok(check, `${directory}: ${on}`);
}

const NO_OWNERS = ['vfat', 'exfat', 'msdos', 'ntfs', 'ntfs3', 'fuseblk'];

function* checkMount({ mount, medium, measured }: Disk): Iterable<Finding> {
  const check = 'disk.filesystem';
  if (mount === null) {
    yield unknown(check, `/proc/self/mountinfo does not list the file system of ${measured}`, null);
    return;
  }
  const { type, options } = mount;
  const ext4 = 'format it as ext4: mkfs.ext4 -L tidegauge DEVICE, and mount it with noatime';
  if (options.includes('ro')) {
    yield error(
      check,
      `${measured} is mounted read-only, which also happens after file system errors`,
      'check it (fsck) and mount it read-write',
    );
  } else if (NO_OWNERS.includes(type)) {
    yield error(
      check,
      `${type} has no file owners and no journal: databases refuse it, or lose data at a power loss`,
      ext4,
    );
  } else if (medium === 'memory') {
    yield error(
      check,
      `${type} is in memory: its data is lost at a power loss`,
      'set a directory on a disk: --data DIR',
    );
  } else if (type === 'overlay') {
    yield warning(
      check,
      "it is a container's own layer, or a read-only root with a layer in memory, so data is not kept",
      'mount the data directory into the container, or mount a disk there',
    );
  } else if (medium === 'network') {
    yield warning(
      check,
      `${type}: a commit waits for the network, and file locks may not work`,
      "use a disk of the board's own",
    );
  } else if (options.some((option) => option === 'nobarrier' || option === 'barrier=0')) {
    yield error(
      check,
      `${type} without barriers: a commit can be lost at a power loss`,
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
  if (free === null) return unknown(check, `${measured} does not report its free space`, null);
  const { bytes, total, inodes } = free;
  const message = `${size(bytes)} of ${size(total)} free`;
  const fix = 'free space (docker system prune, delete old readings) or use a larger disk';
  if (inodes !== null && inodes < 10_000)
    return error(check, `${message}, but only ${count(inodes)} inodes`, fix);
  if (bytes < LEAST_BYTES / 8) return error(check, `${message}: databases stop when it is full`, fix);
  return bytes < LEAST_BYTES || bytes < total * LEAST_SHARE
    ? warning(check, message, fix)
    : ok(check, message);
}

const SLOW_P50 = 0.05;
const SLOW_P99 = 0.25;
/** No flash memory writes faster: the device confirms from a volatile cache. */
const UNBELIEVABLE = 0.000_02;

function checkFsync({ fsync, measured, medium }: Disk): Finding {
  const check = 'disk.fsync';
  if ('why' in fsync) {
    return unknown(
      check,
      `no fsync measured in ${measured}: ${fsync.why}`,
      'run as a user who may write there, or set another directory: --data DIR',
    );
  }
  const { p50, p99, writes } = fsync;
  const message =
    `fsync takes ${duration(p50)} (p99 ${duration(p99)}, ${count(writes)} writes of 4 KiB): ` +
    `at most ${count(1 / p50)} commits/s in sequence; at low load a reading waits up to ${duration(p99)}`;
  const fix = 'use a USB 3 SSD or NVMe; under load larger batches help (PACE=20ms)';
  if (medium !== 'memory' && p50 < UNBELIEVABLE) {
    return warning(
      check,
      `${message}; no device is that fast: it confirms before it has stored the data`,
      'turn its write cache off, unless a battery protects it',
    );
  }
  return p50 > SLOW_P50 || p99 > SLOW_P99 ? warning(check, message, fix) : ok(check, message);
}
