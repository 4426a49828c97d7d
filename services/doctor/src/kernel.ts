import { gunzipSync } from 'node:zlib';
import { error, type Finding, ok, unknown, warning } from './finding.ts';
import type { HostFiles } from './host-files.ts';
import type { MongodbImage } from './processor.ts';

export interface Kernel {
  readonly release: string;
  /** Bytes; null when the process's auxiliary vector cannot be read. */
  readonly pageSize: number | null;
  /** Whether each feature is available: loaded, built in or loadable; null when this cannot be determined. */
  readonly overlay: boolean | null;
  readonly vxlan: boolean | null;
  readonly ipvs: boolean | null;
}

const AT_PAGESZ = 6n;

/** @param release `uname -r`, as in `os.release()` */
export function readKernel(files: HostFiles, release: string): Kernel {
  const overlay = /\boverlay$/m.test(files.text('/proc/filesystems') ?? '') ? true : null;
  const ipvs = files.text('/proc/net/ip_vs') === null ? null : true;
  return {
    release,
    pageSize: pageSize(files),
    overlay: overlay ?? available(files, release, 'overlay', 'CONFIG_OVERLAY_FS'),
    vxlan: available(files, release, 'vxlan', 'CONFIG_VXLAN'),
    ipvs: ipvs ?? available(files, release, 'ip_vs', 'CONFIG_IP_VS'),
  };
}

/** The page size, from the process's auxiliary vector (getauxval(3)), which consists of pairs of words. */
function pageSize(files: HostFiles): number | null {
  const vector = files.bytes('/proc/self/auxv');
  for (let at = 0; vector !== null && at + 16 <= vector.length; at += 16) {
    if (vector.readBigUInt64LE(at) === AT_PAGESZ) return Number(vector.readBigUInt64LE(at + 8));
  }
  return null;
}

function available(files: HostFiles, release: string, module: string, option: string): boolean | null {
  if (files.list(`/sys/module/${module}`) !== null) return true;
  const config = files.bytes('/proc/config.gz');
  if (config !== null) return new RegExp(`^${option}=[ym]$`, 'm').test(gunzipSync(config).toString());
  const lists = ['modules.builtin', 'modules.dep'].map((name) =>
    files.text(`/lib/modules/${release}/${name}`),
  );
  if (lists.every((list) => list === null)) return null;
  return lists.some((list) => list !== null && new RegExp(`/${module}\\.ko`, 'm').test(list));
}

/** Checks the kernel features that databases and overlay networks need. */
export function checkKernel(kernel: Kernel, store: string | null, mongodb: MongodbImage | null): Finding[] {
  return [
    checkRelease(kernel, mongodb),
    checkPageSize(kernel, store, mongodb),
    checkModule(
      'kernel.overlay',
      kernel.overlay,
      'overlay file systems',
      'without it each container takes a full copy of its image',
    ),
    checkModule(
      'kernel.vxlan',
      kernel.vxlan,
      'VXLAN',
      'without it containers on different boards cannot connect',
    ),
    checkIpvs(kernel.ipvs),
  ];
}

function checkRelease({ release }: Kernel, mongodb: MongodbImage | null): Finding {
  const check = 'kernel.release';
  const [major = 0, minor = 0] = release.split(/[.-]/).map(Number);
  const newer = (a: number, b: number) => major > a || (major === a && minor >= b);
  if (!newer(4, 19)) {
    return error(
      check,
      `Linux ${release} is older than 4.19, the oldest that Docker is tested with`,
      'upgrade the system',
    );
  }
  if (newer(6, 19) && (mongodb?.version?.[0] ?? 0) >= 8) {
    return error(
      check,
      `${mongodb!.image} crashes on Linux ${release}: 8.0 and Linux from 6.19 on are incompatible in their use of rseq (SERVER-121912)`,
      'set GLIBC_TUNABLES=glibc.pthread.rseq=1 on its service, or pin MONGODB_IMAGE to mongo:7.0',
    );
  }
  return ok(check, `Linux ${release}`);
}

const FOUR_KIB =
  'add "kernel=kernel8.img" to /boot/firmware/config.txt and reboot: this boots the same system with pages of 4 KiB';

function checkPageSize({ pageSize }: Kernel, store: string | null, mongodb: MongodbImage | null): Finding {
  const check = 'kernel.page-size';
  if (pageSize === null) return unknown(check, '/proc/self/auxv cannot be read', 'run: getconf PAGESIZE');
  const kib = `pages of ${pageSize / 1024} KiB`;
  if (pageSize === 4096) return ok(check, kib);
  const message = `${kib}, as a Raspberry Pi 5 boots by default: programs built with jemalloc for 4 KiB end with "Unsupported system page size"`;
  if ((mongodb?.version?.[0] ?? 0) >= 8) {
    return error(
      check,
      `${message}, and MongoDB is reported to crash from 8.0.5 on (docker-library/mongo issue 762)`,
      FOUR_KIB,
    );
  }
  if (store === 'sqlite' || store === 'json') return ok(check, `${kib}: Node and SQLite run with any`);
  return warning(
    check,
    `${message}; the official images of PostgreSQL, MariaDB and Cassandra start, but others may not`,
    FOUR_KIB,
  );
}

function checkModule(check: string, there: boolean | null, what: string, without: string): Finding {
  if (there === true) return ok(check, `${what}: available`);
  if (there === null) {
    return unknown(
      check,
      `it is not known whether the kernel has ${what}: there is no module list and no /proc/config.gz`,
      'in a container, mount the host with --volume /:/host:ro and set --root /host',
    );
  }
  return error(
    check,
    `the kernel has no ${what}: ${without}`,
    'on Ubuntu run apt install linux-modules-extra-raspi; otherwise upgrade the kernel',
  );
}

/** A missing IPVS is never an error, because no stack depends on it. */
function checkIpvs(there: boolean | null): Finding {
  const check = 'kernel.ipvs';
  if (there === true) return ok(check, 'IPVS is available; the stacks do not need it (dnsrr, host ports)');
  const message =
    there === null ? 'IPVS may be missing' : 'no IPVS: virtual IPs and the routing mesh would not answer';
  return ok(check, `${message}; the stacks do not need it (dnsrr, host ports)`);
}
