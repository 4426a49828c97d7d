import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from '../../src/finding.ts';
import type { HostFiles } from '../../src/host-files.ts';
import { checkKernel, readKernel } from '../../src/kernel.ts';
import { checkMemory, type Profile, readMemory } from '../../src/memory.ts';
import { checkProcessor, mongodbImage, readProcessor } from '../../src/processor.ts';
import { CELERON, PI_3B, PI_3B_32BIT, PI_4, PI_4_MIXED, PI_5, recorded } from '../support/board-files.ts';
import { only } from '../support/findings.ts';

function processor(
  files: HostFiles,
  machine: string,
  arch = 'arm64',
  image: string | null = null,
): Finding[] {
  return checkProcessor(
    readProcessor(files, { arch, machine }),
    image === null ? null : mongodbImage(image, 'mongo:4.4.18'),
  );
}

test('boards are described by name, core and ARM architecture', () => {
  const kind = (files: HostFiles) => only(processor(files, 'aarch64'), 'processor.kind', 'ok').message;
  assert.match(kind(PI_3B), /Raspberry Pi 3 Model B Rev 1\.2, Cortex-A53 .*: aarch64, ARMv8$/);
  assert.match(kind(PI_4), /Raspberry Pi 4 .*Cortex-A72.*ARMv8$/);
  assert.match(kind(PI_5), /Raspberry Pi 5 .*Cortex-A76.*ARMv8\.2$/);
});

test('the architecture of an unknown core is derived from its features', () => {
  const files = recorded({
    '/proc/cpuinfo': 'Features\t: fp asimd atomics dcpop jscvt\nCPU implementer\t: 0x61\nCPU part\t: 0x022\n',
  });
  assert.deepEqual(readProcessor(files, { arch: 'arm64', machine: 'aarch64' }).arm, [8, 3]);
});

test('MongoDB from 4.4.19 is an error below ARMv8.2, and from 5.0 without AVX', () => {
  const check = 'processor.mongodb';
  const refused = only(processor(PI_4, 'aarch64', 'arm64', 'mongo:8.0.12'), check, 'error');
  assert.match(refused.message, /mongo:8\.0\.12 needs ARMv8\.2/);
  assert.match(refused.fix!, /MONGODB_IMAGE=mongo:4\.4\.18/);
  only(processor(PI_4, 'aarch64', 'arm64', 'mongo:4.4.19'), check, 'error');
  only(processor(PI_4, 'aarch64', 'arm64', 'mongo:4.4.18'), check, 'ok');
  only(processor(PI_3B, 'aarch64', 'arm64', 'registry.local:5000/mongo:5.0.31'), check, 'error');
  only(processor(PI_5, 'aarch64', 'arm64', 'mongo:7.0.5'), check, 'ok');
  only(processor(CELERON, 'x86_64', 'x64', 'mongo:7.0.5'), check, 'error');
  only(processor(PI_5, 'aarch64', 'arm64', 'mongo:latest'), check, 'unknown');
});

test('a 32-bit system is an error with any kernel, and the fix depends on the board', () => {
  const old = only(processor(PI_3B_32BIT, 'armv7l', 'arm'), 'processor.kind', 'error');
  assert.match(old.message, /kernel and programs are 32-bit.*armv7/);
  assert.match(old.fix!, /64-bit/);
  const mixed = only(processor(PI_4_MIXED, 'aarch64'), 'processor.kind', 'error');
  assert.match(mixed.message, /its kernel is 64-bit, but its programs/);
  const a7 = recorded({
    '/proc/cpuinfo': 'CPU implementer\t: 0x41\nCPU part\t: 0xc07\nFeatures\t: half thumb neon\n',
  });
  assert.match(only(processor(a7, 'armv7l', 'arm'), 'processor.kind', 'error').fix!, /use a board/);
});

test('a processor without any description has no name', () => {
  const finding = only(processor(recorded({}), 'riscv64', 'riscv64'), 'processor.kind', 'error');
  assert.match(finding.message, /without a known name: riscv64; images are for arm64 and amd64 only/);
});

function memory(files: HostFiles, profile: Profile | null = null, docker: boolean | null = null): Finding[] {
  return checkMemory(readMemory(files), profile, docker);
}

test('memory is compared with the profile, minus the part that firmware reserves', () => {
  only(memory(PI_3B, '1gb'), 'memory.total', 'ok');
  only(memory(PI_5, '8gb'), 'memory.total', 'ok');
  assert.match(only(memory(PI_3B, '2gb'), 'memory.total', 'error').fix!, /1gb\.env/);
  assert.match(only(memory(PI_4, '1gb'), 'memory.total', 'warning').fix!, /4gb\.env/);
  assert.match(only(memory(PI_4), 'memory.total', 'ok').message, /profile 4gb/);
  const zero2 = recorded({ '/proc/meminfo': 'MemTotal:         427000 kB\n' });
  only(memory(zero2, '1gb'), 'memory.total', 'error');
  only(memory(recorded({})), 'memory.total', 'unknown');
});

test('the memory cgroup that Raspberry Pi OS turns off is found in both versions, and by the engine', () => {
  const check = 'memory.cgroup';
  assert.match(only(memory(PI_3B), check, 'error').fix!, /cgroup_enable=memory/);
  only(memory(PI_5), check, 'error');
  only(memory(PI_4), check, 'ok');
  only(memory(PI_4, null, false), check, 'error');
  only(memory(recorded({})), check, 'unknown');
});

test('swap on a card is a warning, swap in memory is not, and no swap only on small boards', () => {
  assert.match(only(memory(PI_3B), 'memory.swap', 'warning').message, /\/var\/swap \(100 MiB\)/);
  only(memory(PI_4), 'memory.swap', 'ok');
  only(memory(PI_5), 'memory.swap', 'ok');
  only(memory(recorded({ '/proc/meminfo': 'MemTotal: 929104 kB\n' })), 'memory.swap', 'warning');
});

test('a memory limit of this process is reported, and "no limit" is not', () => {
  assert.equal(readMemory(PI_4).limit, 2 ** 30);
  const v1 = recorded({
    '/proc/self/cgroup': '4:memory:/docker/abc\n',
    '/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes': '9223372036854771712\n',
  });
  assert.equal(readMemory(v1).limit, null);
});

function kernel(
  files: HostFiles,
  release: string,
  store: string | null = null,
  image = 'mongo:4.4.18',
): Finding[] {
  return checkKernel(readKernel(files, release), store, mongodbImage(image, 'mongo:4.4.18'));
}

test('pages of 16 KiB are reported for the stores that they affect', () => {
  const check = 'kernel.page-size';
  only(kernel(PI_3B, '6.1.21-v8+'), check, 'ok');
  assert.match(
    only(kernel(PI_5, '6.12.47+rpt-rpi-2712', 'mongodb', 'mongo:8.0.15'), check, 'error').fix!,
    /kernel=kernel8\.img/,
  );
  only(kernel(PI_5, '6.12.47+rpt-rpi-2712', 'postgres'), check, 'warning');
  only(kernel(PI_5, '6.12.47+rpt-rpi-2712', 'sqlite'), check, 'ok');
  only(kernel(PI_4, '6.12.47'), check, 'unknown');
});

test('modules count when loaded, built in or loadable; without a list they are unknown', () => {
  const pi = kernel(PI_3B, '6.1.21-v8+');
  only(pi, 'kernel.overlay', 'ok');
  only(pi, 'kernel.vxlan', 'ok');
  assert.doesNotMatch(only(pi, 'kernel.ipvs', 'ok').message, /no IPVS/);
  const bare = recorded({ '/lib/modules/5.15.0-raspi/modules.builtin': 'kernel/fs/overlayfs/overlay.ko\n' });
  only(kernel(bare, '5.15.0-raspi'), 'kernel.overlay', 'ok');
  assert.match(only(kernel(bare, '5.15.0-raspi'), 'kernel.vxlan', 'error').fix!, /linux-modules-extra-raspi/);
  only(kernel(recorded({}), '6.1.0'), 'kernel.vxlan', 'unknown');
});

test('kernels that are too old, or too new for MongoDB 8, are errors', () => {
  only(kernel(recorded({}), '4.14.98-v7+'), 'kernel.release', 'error');
  only(kernel(recorded({}), '4.19.97-v7l+'), 'kernel.release', 'ok');
  only(kernel(recorded({}), '6.19.2', 'mongodb', 'mongo:8.0.12'), 'kernel.release', 'error');
  only(kernel(recorded({}), '6.19.2', 'mongodb', 'mongo:7.0.5'), 'kernel.release', 'ok');
});
