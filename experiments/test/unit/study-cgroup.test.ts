import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { cgroupCounters, cgroupMemory, cgroupPids } from '@tidegauge/experiments/trial/proc';

// Files of a board, whose only container has a limit of processor time and has lost a process to its memory limit.
// Those of version 1 are recorded from Linux 6.18; those of version 2 have the form that its documentation describes.

const NO_THROTTLING = 'nr_periods 0\nnr_throttled 0\nthrottled_time 0\nnr_bursts 0\nburst_time 0\n';
const VERSION_1 = {
  'memory/board/cgroup.procs': '4000001\n4000002\n',
  'memory/board/container/cgroup.procs': '4000003\n',
  'memory/board/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 0\n',
  'memory/board/container/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
  'memory/board/memory.stat': 'rss 0\nmapped_file 0\ntotal_rss 50102272\ntotal_mapped_file 4096\n',
  'cpuacct/board/cpuacct.usage': '494769713\n',
  'cpu/board/cpu.stat': NO_THROTTLING,
  'cpu/board/container/cpu.stat':
    'nr_periods 46\nnr_throttled 8\nthrottled_time 247462339\nnr_bursts 0\nburst_time 0\n',
  'blkio/board/blkio.throttle.io_service_bytes_recursive':
    '8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 12288\n8:0 Async 0\n8:0 Total 12288\nTotal 12288\n',
};

const VERSION_2 = {
  'board/cgroup.controllers': 'cpuset cpu io memory pids\n',
  'board/cgroup.procs': '',
  'board/container/cgroup.procs': '4000001\n4000002\n',
  'board/cpu.stat':
    'usage_usec 494769\nuser_usec 300000\nsystem_usec 194769\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n',
  'board/container/cpu.stat':
    'usage_usec 494769\nuser_usec 300000\nsystem_usec 194769\nnr_periods 46\nnr_throttled 8\nthrottled_usec 247462\n',
  'board/io.stat':
    '8:0 rbytes=4096 wbytes=4096 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=0 wbytes=4096 rios=0 wios=1 dbytes=0 dios=0\n',
  'board/memory.events': 'low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n',
  'board/container/memory.events': 'low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n',
  'board/memory.stat': 'anon 50102272\nfile 9000000\nkernel 100000\nfile_mapped 4096\n',
};

function tree(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'study-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const root = join(folder, 'cgroup');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

for (const { version, files, board } of [
  { version: 1, files: VERSION_1, board: 'memory/board' },
  { version: 2, files: VERSION_2, board: 'board' },
]) {
  test(`counters of a board and its container are read from cgroup v${version}`, (t) => {
    const directory = join(tree(t, files), board);
    const { cpuSeconds, throttledSeconds, ...counters } = cgroupCounters(directory);
    assert.equal(cpuSeconds!.toFixed(3), '0.495');
    assert.equal(throttledSeconds!.toFixed(3), '0.247');
    assert.deepEqual(counters, {
      readBytes: 4096,
      writtenBytes: 8192,
      receivedBytes: null,
      sentBytes: null,
      oomKills: 1,
    });
    assert.equal(cgroupMemory(directory), 50_102_272 + 4096);
    assert.deepEqual(cgroupPids(directory).slice(0, 2), [4_000_001, 4_000_002]);
  });

  test(`what cgroup v${version} does not count is not known`, (t) => {
    const others = Object.entries(files).filter(([path]) => !/(cpu|io)\.stat|cpuacct|oom|events/.test(path));
    const empty = Object.fromEntries(
      others.map(([path, text]) => [path, /blkio/.test(path) ? 'Total 0\n' : text]),
    );
    const directory = join(tree(t, { ...empty, ...(version === 2 ? { 'board/io.stat': '' } : {}) }), board);
    assert.deepEqual(cgroupCounters(directory), {
      cpuSeconds: null,
      readBytes: null,
      writtenBytes: null,
      receivedBytes: null,
      sentBytes: null,
      throttledSeconds: null,
      oomKills: null,
    });
  });
}
