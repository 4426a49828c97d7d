import { error, type Finding, ok, unknown } from './finding.ts';
import { type HostFiles, match } from './host-files.ts';

/** `process.arch` and `uname -m`. */
export interface Platform {
  readonly arch: string;
  readonly machine: string;
}

export interface Processor extends Platform {
  readonly model: string | null;
  /** Name of the core; null when its part id is not known. */
  readonly core: string | null;
  /** ARM architecture as [version, minor], a lower bound; null on other machines and when unknown. */
  readonly arm: readonly [number, number] | null;
  readonly avx: boolean;
  /** Whether the system's programs are 32-bit, also with a 64-bit kernel. */
  readonly userland32: boolean;
}

/** CPU part ids of implementer 0x41 (ARM's Technical Reference Manuals, MIDR_EL1) of common boards. */
const CORES: Readonly<
  Record<string, readonly [name: string, boards: string, arm: readonly [number, number]]>
> = {
  '0xb76': ['ARM1176', 'Raspberry Pi 1 and Zero', [6, 0]],
  '0xc07': ['Cortex-A7', 'Raspberry Pi 2 v1.1', [7, 0]],
  '0xd03': ['Cortex-A53', 'Raspberry Pi 2 v1.2, 3 and Zero 2', [8, 0]],
  '0xd04': ['Cortex-A35', 'small boards', [8, 0]],
  '0xd05': ['Cortex-A55', 'Rockchip boards', [8, 2]],
  '0xd07': ['Cortex-A57', 'Jetson boards', [8, 0]],
  '0xd08': ['Cortex-A72', 'Raspberry Pi 4 and 400', [8, 0]],
  '0xd09': ['Cortex-A73', 'Odroid boards', [8, 0]],
  '0xd0a': ['Cortex-A75', 'larger boards', [8, 2]],
  '0xd0b': ['Cortex-A76', 'Raspberry Pi 5 and 500', [8, 2]],
  '0xd0c': ['Neoverse-N1', 'servers', [8, 2]],
  '0xd41': ['Cortex-A78', 'larger boards', [8, 2]],
};

/** Features in /proc/cpuinfo, and the architecture from which each is mandatory (Linux, arm64/elf_hwcaps). */
const FEATURES: readonly (readonly [feature: string, arm: readonly [number, number]])[] = [
  ['dit', [8, 4]],
  ['jscvt', [8, 3]],
  ['dcpop', [8, 2]],
  ['atomics', [8, 1]],
  ['asimd', [8, 0]],
];

export function readProcessor(files: HostFiles, { arch, machine }: Platform): Processor {
  const cpu = (key: string) => match(files, '/proc/cpuinfo', new RegExp(`^${key}\\s*: (.+)$`, 'm'))?.trim();
  const features = new Set((cpu('Features') ?? cpu('flags') ?? '').split(' '));
  const core = cpu('CPU implementer') === '0x41' ? CORES[cpu('CPU part') ?? ''] : undefined;
  const mandatory = FEATURES.find(([feature]) => features.has(feature))?.[1];
  const isArm = /^(arm|aarch64)/.test(machine);
  return {
    arch,
    machine,
    model:
      cpu('Model') ??
      files.text('/proc/device-tree/model')?.replaceAll('\0', '') ??
      cpu('model name') ??
      null,
    core: core === undefined ? null : `${core[0]} (${core[1]})`,
    arm: isArm ? atLeast(core?.[2], mandatory) : null,
    avx: features.has('avx'),
    userland32: arch === 'arm' || (isArm && !has(files, 'aarch64.so.1') && has(files, 'armhf.so.3')),
  };
}

/** Checks whether Tidegauge's images and the image of the store run on this machine. */
export function checkProcessor(processor: Processor, mongodb: MongodbImage | null): Finding[] {
  const { machine, model, core, arm } = processor;
  const name = [model, core].filter((part) => part !== null).join(', ') || 'a processor without a known name';
  const level = arm === null ? machine : `${machine}, ARMv${arm[0]}${arm[1] === 0 ? '' : `.${arm[1]}`}`;
  return [
    kind(processor, `${name}: ${level}`),
    ...(mongodb === null ? [] : [checkMongodb(processor, mongodb)]),
  ];
}

function kind({ machine, userland32, arm }: Processor, message: string): Finding {
  const check = 'processor.kind';
  if (userland32) {
    const [kernel, fix] =
      machine === 'aarch64'
        ? ['its kernel is 64-bit, but its programs, including Docker, are 32-bit', FLASH]
        : ['its kernel and programs are 32-bit', arm !== null && arm[0] < 8 ? REPLACE : FLASH];
    return error(
      check,
      `${message}; ${kernel}: images are for arm64 and amd64, and Node 24, MongoDB, MariaDB and Citus have none for armv7`,
      fix,
    );
  }
  if (machine !== 'aarch64' && machine !== 'x86_64') {
    return error(check, `${message}; images are for arm64 and amd64 only`, REPLACE);
  }
  return ok(check, message);
}

const FLASH = 'flash Raspberry Pi OS Lite (64-bit) and join the board again';
const REPLACE = 'use a board with a 64-bit processor: Raspberry Pi 3 or newer';

/** The MongoDB image of the deployment. */
export interface MongodbImage {
  readonly image: string;
  /** Version from its tag; null when the tag has none. */
  readonly version: readonly [major: number, minor: number, patch: number] | null;
  /** The image for older boards. */
  readonly older: string;
}

/** Parses an image name such as `mongo:4.4.18`. */
export function mongodbImage(image: string, older: string): MongodbImage {
  const [, major, minor, patch = '0'] = /:(\d+)\.(\d+)(?:\.(\d+))?/.exec(image) ?? [];
  const version = major === undefined ? null : ([Number(major), Number(minor), Number(patch)] as const);
  return { image, version, older };
}

/**
 * Whether the image needs more than ARMv8.0 or SSE: builds from 4.4.19 need ARMv8.2-A, builds from 5.0 need AVX
 * (MongoDB Manual, production notes).
 */
export function isDemanding({ version }: MongodbImage, machine: string): boolean {
  const [major, minor, patch] = version ?? [0, 0, 0];
  return major >= 5 || (machine !== 'x86_64' && major === 4 && minor === 4 && patch >= 19);
}

function checkMongodb({ machine, arm, avx }: Processor, mongodb: MongodbImage): Finding {
  const check = 'processor.mongodb';
  const { image, version, older } = mongodb;
  const pin = `set MONGODB_IMAGE=${older} in stacks/versions.env, on all boards of the set`;
  if (version === null) {
    return unknown(
      check,
      `${image} has no version in its tag; MongoDB needs ARMv8.2 from 4.4.19 and AVX from 5.0`,
      pin,
    );
  }
  if (!isDemanding(mongodb, machine)) return ok(check, `${image} runs on any 64-bit processor`);
  const needs = machine === 'x86_64' ? 'AVX' : 'ARMv8.2';
  if (machine !== 'x86_64' && arm === null) {
    return unknown(check, `${image} needs ARMv8.2, and the ARM version of this processor is not known`, pin);
  }
  const [major, minor] = arm ?? [0, 0];
  const enough = machine === 'x86_64' ? avx : major > 8 || (major === 8 && minor >= 2);
  if (enough) return ok(check, `${image} has the ${needs} that it needs`);
  return error(check, `${image} needs ${needs}, which is missing: it dies of an illegal instruction`, pin);
}

function atLeast(
  ...levels: readonly (readonly [number, number] | undefined)[]
): readonly [number, number] | null {
  const known = levels.filter((level) => level !== undefined);
  return known.toSorted((a, b) => b[0] - a[0] || b[1] - a[1])[0] ?? null;
}

function has(files: HostFiles, loader: string): boolean {
  return files.list('/lib')?.includes(`ld-linux-${loader}`) ?? false;
}
