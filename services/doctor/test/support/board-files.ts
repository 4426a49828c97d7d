import type { HostFiles } from '../../src/host-files.ts';

/**
 * The recorded files of a machine, by path. Directories follow from their files; the content of a link begins with
 * `->`.
 */
export function recorded(contents: Readonly<Record<string, string | Buffer>>): HostFiles {
  const get = (path: string): string | Buffer | null => contents[path] ?? null;
  return {
    text(path) {
      const content = get(path);
      return content === null || String(content).startsWith('->') ? null : String(content);
    },
    bytes(path) {
      const content = get(path);
      return content === null ? null : Buffer.from(content);
    },
    list(path) {
      const below = Object.keys(contents).filter((file) => file.startsWith(`${path}/`));
      const names = new Set(below.map((file) => file.slice(path.length + 1).split('/')[0]!));
      return names.size === 0 ? null : [...names];
    },
    link(path) {
      const content = String(get(path) ?? '');
      return content.startsWith('->') ? content.slice(2) : null;
    },
  };
}

/** An auxiliary vector: pairs of 64-bit words, as the kernel passes them to a process. */
export function auxv(pageSize: number): Buffer {
  const words = [33n, 0x7fff_0000n, 16n, 0x83n, 6n, BigInt(pageSize), 0n, 0n];
  const vector = Buffer.alloc(words.length * 8);
  for (const [index, word] of words.entries()) vector.writeBigUInt64LE(word, index * 8);
  return vector;
}

function cpuinfo(cores: number, lines: readonly string[], tail: readonly string[] = []): string {
  const blocks = Array.from({ length: cores }, (_, core) =>
    [`processor\t: ${core}`, ...lines, ''].join('\n'),
  );
  return `${[...blocks, ...tail].join('\n')}\n`;
}

function arm(part: string, variant: string, revision: string, features: string, bogomips: string): string[] {
  return [
    `BogoMIPS\t: ${bogomips}`,
    `Features\t: ${features}`,
    'CPU implementer\t: 0x41',
    `CPU architecture: ${features.startsWith('half') ? 7 : 8}`,
    `CPU variant\t: ${variant}`,
    `CPU part\t: ${part}`,
    `CPU revision\t: ${revision}`,
  ];
}

const A32 = 'half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt vfpd32 lpae evtstrm crc32 ';
const V8_0 = 'fp asimd evtstrm crc32 cpuid';
const A76 =
  'fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp';

/** cgroup v1 of Raspberry Pi OS 10, with the effect of its cmdline.txt. */
const NO_MEMORY_CGROUP =
  '#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t6\t1\t1\nmemory\t0\t57\t0\npids\t4\t61\t1\n';
const SWAPS = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';
const LOADER_64 = { '/lib/ld-linux-aarch64.so.1': '' };
const LOADER_32 = { '/lib/ld-linux-armhf.so.3': '' };

/** Raspberry Pi 3B, 64-bit, as shipped: memory cgroup off, swap on the card. */
export const PI_3B = recorded({
  ...LOADER_64,
  '/proc/cpuinfo': cpuinfo(4, arm('0xd03', '0x0', '4', V8_0, '38.40'), [
    'Hardware\t: BCM2835',
    'Revision\t: a02082',
    'Model\t\t: Raspberry Pi 3 Model B Rev 1.2',
  ]),
  '/proc/meminfo': 'MemTotal:         929104 kB\nMemFree:           27236 kB\n',
  '/proc/cgroups': NO_MEMORY_CGROUP,
  '/proc/swaps': `${SWAPS}/var/swap                               file\t\t102396\t\t0\t\t-2\n`,
  '/proc/self/auxv': auxv(4096),
  '/proc/filesystems': 'nodev\tproc\n\text4\nnodev\toverlay\n',
  '/lib/modules/6.1.21-v8+/modules.builtin': 'kernel/fs/ext4/ext4.ko\n',
  '/lib/modules/6.1.21-v8+/modules.dep':
    'kernel/drivers/net/vxlan/vxlan.ko.xz: kernel/net/ipv4/udp_tunnel.ko.xz\nkernel/net/netfilter/ipvs/ip_vs.ko.xz:\n',
  '/proc/self/mountinfo': [
    '21 1 179:2 / / rw,noatime shared:1 - ext4 /dev/root rw',
    '35 21 8:1 / /var/lib/tidegauge rw,noatime shared:9 - vfat /dev/sda1 rw,fmask=0022,errors=remount-ro',
    '36 21 8:17 / /mnt/my\\040disk rw,noatime - ext4 /dev/sdb1 rw,barrier=0',
  ].join('\n'),
  '/sys/dev/block/179:2':
    '->../../devices/platform/soc/3f202000.mmc/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0/mmcblk0p2',
  '/sys/block/mmcblk0/device/type': 'SD\n',
  '/sys/dev/block/8:1':
    '->../../devices/platform/soc/3f980000.usb/usb1/1-1/1-1.3/1-1.3:1.0/host0/target0:0:0/0:0:0:0/block/sda/sda1',
});

/** Raspberry Pi 3B+ with the 32-bit system of the study's time. */
export const PI_3B_32BIT = recorded({
  ...LOADER_32,
  '/proc/cpuinfo': cpuinfo(
    4,
    ['model name\t: ARMv7 Processor rev 4 (v7l)', ...arm('0xd03', '0x0', '4', A32, '89.60')],
    ['Hardware\t: BCM2835', 'Revision\t: a020d3', 'Model\t\t: Raspberry Pi 3 Model B Plus Rev 1.3'],
  ),
});

/** Raspberry Pi 4, 32-bit Raspberry Pi OS, which boots a 64-bit kernel there. */
export const PI_4_MIXED = recorded({
  ...LOADER_32,
  '/proc/cpuinfo': cpuinfo(4, arm('0xd08', '0x0', '3', V8_0, '108.00'), [
    'Hardware\t: BCM2835',
    'Revision\t: c03112',
    'Model\t\t: Raspberry Pi 4 Model B Rev 1.2',
  ]),
});

export const PI_4 = recorded({
  ...LOADER_64,
  '/proc/cpuinfo': cpuinfo(4, arm('0xd08', '0x0', '3', V8_0, '108.00'), [
    'Revision\t: c03112',
    'Model\t\t: Raspberry Pi 4 Model B Rev 1.2',
  ]),
  '/proc/meminfo': 'MemTotal:        3884040 kB\n',
  '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory pids\n',
  '/proc/self/cgroup': '0::/system.slice/docker.service\n',
  '/sys/fs/cgroup/system.slice/docker.service/memory.max': '1073741824\n',
  '/proc/swaps': `${SWAPS}/dev/zram0                              partition\t1942016\t\t0\t\t100\n`,
});

/** Raspberry Pi 5 with its default kernel. */
export const PI_5 = recorded({
  ...LOADER_64,
  '/proc/cpuinfo': cpuinfo(4, arm('0xd0b', '0x4', '1', A76, '108.00'), [
    'Revision\t: d04170',
    'Model\t\t: Raspberry Pi 5 Model B Rev 1.0',
  ]),
  '/proc/meminfo': 'MemTotal:        8255920 kB\n',
  '/proc/cgroups': '#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t0\t120\t1\n',
  '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io pids\n',
  '/proc/self/auxv': auxv(16_384),
});

/** A small PC whose processor has no AVX. */
export const CELERON = recorded({
  '/lib64/ld-linux-x86-64.so.2': '',
  '/proc/cpuinfo': cpuinfo(2, [
    'vendor_id\t: GenuineIntel',
    'model name\t: Intel(R) Celeron(R) N4000 CPU @ 1.10GHz',
    'flags\t\t: fpu vme de pse tsc msr sse sse2 ssse3 sse4_1 sse4_2 popcnt aes rdrand lm',
  ]),
});
