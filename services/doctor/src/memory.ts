import { error, type Finding, ok, unknown, warning } from './finding.ts';
import { type HostFiles, match } from './host-files.ts';
import { size } from './units.ts';

export const PROFILES = ['1gb', '2gb', '4gb', '8gb'] as const;
export type Profile = (typeof PROFILES)[number];

export interface Memory {
  /** Memory of the machine, bytes; null when /proc/meminfo cannot be read. */
  readonly total: number | null;
  /** The limit of this process's own control group, bytes; null without one. */
  readonly limit: number | null;
  /** Whether the kernel can limit the memory of containers; null when unknown. */
  readonly controlled: boolean | null;
  readonly swap: readonly { readonly device: string; readonly bytes: number }[];
}

export function readMemory(files: HostFiles): Memory {
  const kib = match(files, '/proc/meminfo', /^MemTotal:\s+(\d+) kB$/m);
  return {
    total: kib === null ? null : Number(kib) * 1024,
    limit: ownLimit(files),
    controlled: controlled(files),
    swap: [...(files.text('/proc/swaps') ?? '').matchAll(/^(\/\S+)\s+\S+\s+(\d+)/gm)].map(
      ([, device, kib]) => ({
        device: device!,
        bytes: Number(kib) * 1024,
      }),
    ),
  };
}

/** cgroup v2 lists its controllers; v1 has a table with an `enabled` column. */
function controlled(files: HostFiles): boolean | null {
  const controllers = files.text('/sys/fs/cgroup/cgroup.controllers');
  if (controllers !== null) return controllers.split(/\s+/).includes('memory');
  const enabled = match(files, '/proc/cgroups', /^memory\s+\d+\s+\d+\s+(\d)$/m);
  if (enabled !== null) return enabled === '1';
  return files.text('/proc/cgroups') === null ? null : false;
}

function ownLimit(files: HostFiles): number | null {
  const own = match(files, '/proc/self/cgroup', /^\d+:memory:(.+)$/m) ?? '/';
  const unified = match(files, '/proc/self/cgroup', /^0::(.+)$/m) ?? '/';
  const places = [
    `/sys/fs/cgroup${unified}/memory.max`,
    `/sys/fs/cgroup/memory${own}/memory.limit_in_bytes`,
    '/sys/fs/cgroup/memory/memory.limit_in_bytes',
  ];
  const text = places.map((place) => files.text(place)?.trim()).find((found) => found !== undefined);
  const limit = Number(text ?? 'max');
  // In cgroup v1 "no limit" is the largest multiple of the page size.
  return Number.isFinite(limit) && limit < 2 ** 60 ? limit : null;
}

/**
 * Checks memory against the profile, and whether the kernel can limit it.
 *
 * @param dockerLimits `MemoryLimit` of the Docker engine's /info; null without an engine
 */
export function checkMemory(
  memory: Memory,
  profile: Profile | null,
  dockerLimits: boolean | null,
): Finding[] {
  return [
    checkTotal(memory, profile),
    checkControl(dockerLimits ?? memory.controlled),
    checkSwap(memory),
    ...(memory.limit !== null && memory.limit < (memory.total ?? 0)
      ? [ok('memory.limit', `this process itself may use ${size(memory.limit)}`)]
      : []),
  ];
}

/** Share of the installed memory that the kernel reports at least: a board with 1 GB reports 906 MiB. */
const SHOWN = 0.85;

export function fits(total: number, profile: Profile): boolean {
  return total >= Number.parseInt(profile, 10) * 2 ** 30 * SHOWN;
}

/** The largest profile that memory allows; null below the smallest. */
export function profileFor(total: number): Profile | null {
  return PROFILES.findLast((profile) => fits(total, profile)) ?? null;
}

function checkTotal({ total }: Memory, profile: Profile | null): Finding {
  const check = 'memory.total';
  if (total === null) return unknown(check, '/proc/meminfo cannot be read', null);
  const largest = profileFor(total);
  if (largest === null) {
    return error(
      check,
      `${size(total)}: less than a board with 1 GB has, so no profile fits`,
      'use a larger board',
    );
  }
  if (profile === null) return ok(check, `${size(total)}: profile ${largest}`);
  if (!fits(total, profile)) {
    return error(
      check,
      `${size(total)} are too little for the profile ${profile}: the kernel would kill databases`,
      `deploy with stacks/profiles/${largest}.env`,
    );
  }
  if (largest !== profile) {
    return warning(
      check,
      `${size(total)} are more than the profile ${profile} uses`,
      `deploy with stacks/profiles/${largest}.env, unless you compare with smaller boards`,
    );
  }
  return ok(check, `${size(total)} fit the profile ${profile}`);
}

function checkControl(controlled: boolean | null): Finding {
  const check = 'memory.cgroup';
  if (controlled === null)
    return unknown(check, 'neither /proc/cgroups nor a Docker engine reports it', null);
  if (controlled) return ok(check, 'the kernel can limit the memory of containers');
  return error(
    check,
    'the memory cgroup is off, as Raspberry Pi OS ships it: Docker ignores every memory limit silently, and one database can take all memory',
    'append "cgroup_enable=memory cgroup_memory=1" to the only line of /boot/firmware/cmdline.txt (older: /boot/cmdline.txt) and reboot',
  );
}

function checkSwap({ swap, total }: Memory): Finding {
  const check = 'memory.swap';
  if (swap.length === 0) {
    return (total ?? 0) >= 2 * 2 ** 30
      ? ok(check, 'no swap')
      : warning(
          check,
          'no swap: on a small board the kernel kills a process at a memory peak',
          'install zram-tools, which swaps to compressed memory',
        );
  }
  const names = swap.map(({ device, bytes }) => `${device} (${size(bytes)})`).join(', ');
  if (swap.every(({ device }) => device.startsWith('/dev/zram')))
    return ok(check, `swap in memory: ${names}`);
  return warning(
    check,
    `swap on disk: ${names}; a database that swaps to an SD card stalls for seconds and wears the card out`,
    'use zram instead: apt install zram-tools, then dphys-swapfile swapoff or swapoff -a',
  );
}
