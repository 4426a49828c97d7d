import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CarryOver } from '@tidegauge/experiments/trial/carry-over';
import { energyOf } from '@tidegauge/experiments/trial/energy';
import { readExporter } from '@tidegauge/experiments/trial/exporter';
import {
  parseBlkio,
  parseDiskstats,
  parseIoStat,
  parseMachineTime,
  parseNetDev,
  parseStat,
  parseVmstat,
  processCounters,
  processMemory,
} from '@tidegauge/experiments/trial/proc';
import { Recorder } from '@tidegauge/experiments/trial/recorder';
import { RecoveryMeter } from '@tidegauge/experiments/trial/recovery';
import { SampledWrites } from '@tidegauge/experiments/trial/sampled-writes';
import { strongReadUrl } from '@tidegauge/experiments/trial/strong-reads';
import { parseThrottled } from '@tidegauge/experiments/trial/throttling';
import { type Evidence, judge } from '@tidegauge/experiments/trial/validity';
import { initialRecords, parseWorkload, seeded, type Values } from '@tidegauge/workload';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-trial-unit-'));
after(() => rmSync(folder, { recursive: true }));

const EVIDENCE: Evidence = {
  limits: {
    dropped: 0,
    errors: 0,
    damaged: 0,
    target: 0.98,
    throttled: 0,
    clockStepMs: 50,
    oomKills: 0,
    swapBytes: 0,
    foreignCpu: 0.1,
    network: 0.2,
    carryOver: 0.5,
  },
  planned: 1000,
  started: 1000,
  done: 1000,
  rows: 1000,
  seconds: 10,
  rate: 100,
  damaged: 0,
  damagedNote: null,
  carryOver: 0.1,
  carryOverNote: null,
  failure: null,
  profile: { delayMs: 20, jitterMs: 0, loss: 0, kilobitsPerSecond: null },
  measured: {
    seconds: 10,
    nodes: [],
    throttled: 0,
    throttledNote: null,
    clockStepMs: 0.4,
    oomKills: 0,
    swapBytes: 0,
    foreignCpu: 0.05,
    storedBytes: null,
    roundTripMs: { before: 20.5, after: 21 },
    unseen: [],
    joules: null,
    cores: new Map(),
  },
};

const BROKEN: readonly (readonly [rule: string, change: Partial<Evidence>, measured: number])[] = [
  ['driver', { failure: 'the driver ended early' }, 1],
  ['recorded', { rows: 0 }, 1000],
  ['dropped', { planned: 1001 }, 1],
  ['errors', { done: 998 }, 2],
  ['damaged', { damaged: 3 }, 3],
  ['target', { seconds: 11 }, 1000 / 11 / 100],
  ['throttled', { measured: { ...EVIDENCE.measured, throttled: 0.01 } }, 0.01],
  ['clockStep', { measured: { ...EVIDENCE.measured, clockStepMs: 51 } }, 51],
  ['oomKills', { measured: { ...EVIDENCE.measured, oomKills: 1 } }, 1],
  ['swap', { measured: { ...EVIDENCE.measured, swapBytes: 4096 } }, 4096],
  ['foreignCpu', { measured: { ...EVIDENCE.measured, foreignCpu: 0.11 } }, 0.11],
  ['network', { measured: { ...EVIDENCE.measured, roundTripMs: { before: 20, after: 26 } } }, 0.3],
  ['carryOver', { carryOver: 1.9 }, 1.9],
];

test('each rule finds its own problem, with the measured value', () => {
  assert.deepEqual(
    judge(EVIDENCE).filter(({ ok }) => !ok),
    [],
  );
  assert.deepEqual(
    judge(EVIDENCE).map(({ rule }) => rule),
    BROKEN.map(([rule]) => rule),
  );
  for (const [rule, change, measured] of BROKEN) {
    const failed = judge({ ...EVIDENCE, ...change }).filter(({ ok }) => !ok);
    assert.deepEqual(
      failed.map((check) => [check.rule, check.measured]),
      [[rule, measured]],
    );
  }
});

test('a rule without a limit measures and does not judge, and those of the driver and of its file always judge', () => {
  const limits = Object.fromEntries(Object.keys(EVIDENCE.limits).map((name) => [name, null]));
  for (const [rule, change, measured] of BROKEN) {
    const checks = judge({ ...EVIDENCE, ...change, limits: limits as unknown as Evidence['limits'] });
    const check = checks.find((each) => each.rule === rule)!;
    assert.equal(check.measured, measured);
    assert.equal(check.ok, !['driver', 'recorded'].includes(rule));
  }
});

test('what the turns of one partner leave to the next one is found', () => {
  const random = seeded(1);
  const measure = (factor: number, turns: number): ReturnType<CarryOver['largest']> => {
    const found = new CarryOver();
    for (let turn = 0; turn < turns; turn++) {
      const before = random.below(6);
      found.add(before, Math.exp(random.double()) * (before === 4 ? factor : 1));
    }
    return found.largest();
  };
  const { share, after } = measure(2, 600)!;
  assert.equal(after, 4);
  assert.ok(share > 0.7 && share < 1.4, `${share}`);
  for (let repeated = 0; repeated < 100; repeated++) assert.equal(measure(1, 600)!.share, 0);
  assert.equal(measure(2, 20), null);
});

test('a value that is not known here is reported, and the run stays valid', () => {
  const unknown = { throttled: null, oomKills: null, swapBytes: null, foreignCpu: null };
  const measured = { ...EVIDENCE.measured, ...unknown, roundTripMs: { before: null, after: null } };
  const checks = judge({ ...EVIDENCE, measured }).filter(({ measured: value }) => value === null);
  assert.deepEqual(
    checks.map(({ rule, ok, note }) => [rule, ok, note]),
    ['throttled', 'oomKills', 'swap', 'foreignCpu', 'network'].map((rule) => [rule, true, 'not known here']),
  );
});

test('rules that measure this machine only report it when nodes are other machines', () => {
  const measured = { ...EVIDENCE.measured, unseen: ['pi-2', 'api'], foreignCpu: null };
  const notes = new Map(judge({ ...EVIDENCE, measured }).map(({ rule, note }) => [rule, note]));
  const only = 'pi-2, api cannot be measured from here';
  for (const rule of ['throttled', 'oomKills', 'swap', 'foreignCpu']) assert.equal(notes.get(rule), only);
  assert.equal(notes.get('errors'), undefined);
});

test('files of /proc and of control groups are read', () => {
  const stat = '42 (a (b) c) S 7 42 42 0 -1 4194560 100 200 0 0 150 50 30 20 20 0 1 0 100 1000 10';
  assert.deepEqual(parseStat(stat), { parent: 7, cpuSeconds: 2.5 });
  assert.deepEqual(parseMachineTime('cpu  100 200 300 400 500 10 20 30 5 0\ncpu0 1 1 1 1 1 1 1 1\n'), {
    busy: 6.3,
    stolen: 0.3,
  });
  const disks =
    ' 8 0 sda 10 0 16 0 5 0 24 0 0 0 0\n 8 1 sda1 1 0 16 0 5 0 24 0 0\n 7 0 loop0 9 0 99 0 9 0 99 0 0\n';
  assert.deepEqual(
    parseDiskstats(disks, (name) => name === 'sda' || name === 'loop0'),
    { readBytes: 8192, writtenBytes: 12_288 },
  );
  const net =
    'Inter-|   Receive  |  Transmit\n face |bytes packets\n    lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n' +
    '  eth0:1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0\n';
  assert.deepEqual(parseNetDev(net), { receivedBytes: 1000, sentBytes: 2000 });
  assert.deepEqual(parseVmstat('pswpin 2\npswpout 3\noom_kill 1\n'), { oomKills: 1, swapBytes: 20_480 });
  assert.deepEqual(parseVmstat('nr_free_pages 2\n'), { oomKills: null, swapBytes: null });
  const io = '8:0 rbytes=10 wbytes=20 rios=1 wios=1\n8:16 rbytes=1 wbytes=2 rios=1 wios=1\n';
  assert.deepEqual(parseIoStat(io), { readBytes: 11, writtenBytes: 22 });
  assert.deepEqual(parseBlkio('8:0 Read 10\n8:0 Write 20\n8:16 Read 1\nTotal 31\n'), {
    readBytes: 11,
    writtenBytes: 20,
  });
  assert.equal(parseThrottled('throttled=0x50005\n'), 5);
  assert.equal(parseThrottled('throttled=0x50000\n'), 0);
  assert.equal(parseThrottled('VCHI initialization failed'), null);
});

test('the counters of this process grow with its work', () => {
  const before = processCounters([process.pid]).cpuSeconds!;
  const begun = process.cpuUsage();
  const end = performance.now() + 300;
  while (performance.now() < end) JSON.stringify(begun);
  const used = processCounters([process.pid]).cpuSeconds! - before;
  const { user, system } = process.cpuUsage(begun);
  assert.ok(used > 0 && Math.abs(used - (user + system) / 1e6) <= 0.05, String(used));
  const resident = processMemory([process.pid])!;
  assert.ok(Math.abs(resident / process.memoryUsage().rss - 1) < 0.2);
});

test('a node exporter is read', async () => {
  const text = `# HELP node_cpu_seconds_total Seconds
node_cpu_seconds_total{cpu="0",mode="idle"} 100
node_cpu_seconds_total{cpu="0",mode="user"} 5.5
node_cpu_seconds_total{cpu="1",mode="system"} 4.5
node_cpu_seconds_total{cpu="1",mode="iowait"} 50
node_disk_read_bytes_total{device="mmcblk0"} 100
node_disk_written_bytes_total{device="mmcblk0"} 2e+02
node_disk_written_bytes_total{device="loop0"} 7
node_network_receive_bytes_total{device="eth0"} 10
node_network_receive_bytes_total{device="lo"} 99
node_memory_MemTotal_bytes 1000
node_memory_MemAvailable_bytes 400
node_vmstat_oom_kill 2
`;
  assert.equal(await readExporter(() => Promise.reject(new Error('no answer'))), null);
  assert.deepEqual(await readExporter(async () => text), {
    cpuSeconds: 10,
    readBytes: 100,
    writtenBytes: 200,
    receivedBytes: 10,
    sentBytes: null,
    memoryBytes: 600,
    cores: 2,
    oomKills: 2,
    swapBytes: null,
    joules: null,
  });
});

test('energy follows the processor share of each node, and a meter has precedence', () => {
  const usage = {
    memoryBytes: null,
    readBytes: null,
    writtenBytes: null,
    receivedBytes: null,
    sentBytes: null,
  };
  const node = (name: string, role: 'store' | 'api' | 'client' | 'machine', cpuSeconds: number | null) =>
    ({ ...usage, node: name, role, cpuSeconds, source: 'proc' }) as const;
  const model = { model: 'board', idleWatts: 2, busyWatts: 6, uncertainty: 0.25, source: 'a source' };
  const nodes = [
    node('a', 'store', 20),
    node('b', 'store', 0),
    node('api', 'api', 10),
    node('c', 'client', 9),
  ];
  const input = { model, nodes, cores: () => 4, seconds: 10, done: 100, joules: null };
  // a: 2 W + 4 W x 0.5; b: 2 W; api: 4 W x 0.25; for 10 s.
  assert.deepEqual(energyOf(input), {
    joules: 70,
    low: 52.5,
    high: 87.5,
    perOperation: 0.7,
    source: 'model board: a source',
  });
  assert.equal(energyOf({ ...input, joules: 50 })!.joules, 50);
  assert.equal(energyOf({ ...input, model: null }), null);
  assert.equal(energyOf({ ...input, nodes: [node('a', 'store', null)] }), null);
  assert.equal(energyOf({ ...input, nodes: [node('api', 'api', 3)] }), null);
});

test('the recorder keeps each operation, in memory and in a file', () => {
  const spill = join(folder, 'spill');
  const rows = 200_000;
  const recorder = new Recorder(spill, { memoryBytes: 2 ** 20 });
  const origin = performance.now();
  for (let index = 0; index < rows; index += 1) {
    const begun = origin + index;
    const isPart = index % 10 === 0;
    recorder.ended(
      isPart ? 'read' : 'update',
      isPart ? 'OK' : 'TIMEOUT',
      begun,
      begun + 0.25,
      index % 300,
      isPart,
    );
  }
  assert.ok(existsSync(spill));
  const lines = [...recorder.lines()].join('').trimEnd().split('\n');
  assert.equal(lines.length, rows);
  const first = Number(lines[0]!.split(',')[0]);
  for (const [index, line] of lines.entries()) {
    const [start, ...rest] = line.split(',');
    const isPart = index % 10 === 0;
    assert.ok(Math.abs(Number(start) - first - index * 1000) <= 1);
    assert.deepEqual(rest, [
      isPart ? 'READ' : 'UPDATE',
      '250',
      isPart ? 'OK' : 'TIMEOUT',
      String(index % 300),
      isPart ? '1' : '0',
      '1',
    ]);
  }
  assert.deepEqual(recorder.totals().outcomes, { TIMEOUT: rows * 0.9 });
  assert.equal(recorder.totals().rows, rows);
  recorder.close();
  assert.equal(existsSync(spill), false);
});

const WORKLOAD = parseWorkload('recordcount=10\nfieldcount=2\nfieldlength=8', { file: 'small' });

type Stored = (key: string) => Values;

async function verified(writes: SampledWrites, stored: Stored, onAllCopies: Stored | null = null) {
  const reading = (from: Stored) => async (key: string) => ({
    outcome: 'OK' as const,
    values: () => from(key),
  });
  return writes.verify(reading(stored), onAllCopies && reading(onAllCopies));
}

test('a write that one copy lacks is stale, and one that all copies lack is lost', async () => {
  const writes = new SampledWrites(WORKLOAD, 5, 2);
  const recordOf = initialRecords(WORKLOAD, 5);
  const initial = new Map(
    Array.from({ length: 10 }, (_, number) => [recordOf(number).key, recordOf(number).values]),
  );
  const keys = [...initial.keys()];
  for (const key of keys.slice(0, 3)) writes.writing('update', key, { field0: 'new' })!('OK');
  const copyWith = (updated: number): Stored => {
    const has = (key: string): boolean => keys.indexOf(key) < updated;
    return (key) => (has(key) ? { ...initial.get(key)!, field0: 'new' } : initial.get(key)!);
  };
  const found = await verified(writes, copyWith(1), copyWith(2));
  assert.deepEqual([found.checked, found.stale, found.damaged], [10, 1, 1]);
  const alone = await verified(writes, copyWith(1));
  assert.deepEqual([alone.stale, alone.damaged], [0, 2]);
  assert.match((await verified(writes, copyWith(2), copyWith(3))).example!, /right when all copies are read/);
});

test('records are read from all copies where reads may miss a write', async () => {
  const url = (levels: string): string => `cassandra://127.0.0.1/k?rf=3&${levels}`;
  const all = url('read=ALL&write=ONE');
  assert.equal(await strongReadUrl(url('read=ONE&write=ONE')), all);
  assert.equal(await strongReadUrl(url('read=QUORUM&write=ONE')), all);
  assert.equal(await strongReadUrl(url('write=ONE')), 'cassandra://127.0.0.1/k?rf=3&write=ONE&read=ALL');
  for (const levels of ['', 'read=QUORUM&write=LOCAL_QUORUM', 'read=ONE&write=ALL', 'read=ALL&write=ONE']) {
    assert.equal(await strongReadUrl(url(levels)), null, levels);
  }
  for (const other of ['sqlite:./x.db', 'postgres://u@h/d', 'mongodb://h/d?w=1', 'hbase://h/n']) {
    assert.equal(await strongReadUrl(other), null, other);
  }
});

test('each written record is watched where a node fails, up to a limit', async () => {
  const writes = new SampledWrites(WORKLOAD, 5, 2);
  const keys = ['user-first', 'user-second', 'user-third'];
  writes.writing('update', keys[0]!, { field0: 'acknowledged' })!('OK');
  writes.writing('update', keys[1]!, { field0: 'unknown' })!('TIMEOUT');
  assert.equal(writes.writing('update', keys[2]!, { field0: 'beyond' }), null);
  const recordOf = initialRecords(WORKLOAD, 5);
  const loaded = new Map(
    Array.from({ length: 10 }, (_, number) => [recordOf(number).key, recordOf(number).values]),
  );
  const after = (field0: string) =>
    verified(writes, (key) => loaded.get(key) ?? { field0: key === keys[0] ? field0 : 'loaded before' });
  assert.equal((await after('acknowledged')).damaged, 0);
  const { checked, damaged, example } = await after('loaded before');
  assert.deepEqual([checked, damaged], [loaded.size + 2, 1]);
  assert.match(example!, /^user-first: field0/);
});

/** Rows of one operation each `stepMs`, with a latency of 1 ms. */
const rowsOf = (fromMs: number, toMs: number, stepMs: number, status = 'OK'): string => {
  let text = '';
  for (let at = fromMs; at < toMs; at += stepMs) text += `${at * 1000},READ,1000,${status},0,0\n`;
  return text;
};

test('recovery is the time to the first second with the rate before', () => {
  const meter = new RecoveryMeter(5);
  meter.add(rowsOf(0, 4999, 10));
  meter.add(rowsOf(5000, 8000, 10, 'TIMEOUT'));
  meter.add(rowsOf(8000, 12_000, 10));
  const { rateBefore, recoverySeconds, failedShare } = meter.result();
  assert.ok(Math.abs(rateBefore - 100) < 1);
  assert.equal(recoverySeconds, 3);
  assert.ok(Math.abs(failedShare! - 3 / 7) < 0.01);
});

test('a store that stays fast has recovered at once, and one that stays slow has not', () => {
  const fast = new RecoveryMeter(2);
  fast.add(rowsOf(0, 6000, 10));
  assert.deepEqual([fast.result().recoverySeconds, fast.result().failedShare], [0, 0]);
  const slow = new RecoveryMeter(2);
  slow.add(rowsOf(0, 2000, 10));
  slow.add(rowsOf(2000, 9000, 20));
  assert.equal(slow.result().recoverySeconds, null);
  const ended = new RecoveryMeter(3);
  ended.add(rowsOf(0, 2000, 10));
  assert.deepEqual([ended.result().recoverySeconds, ended.result().failedShare], [0, null]);
});

test('a lost write is found, and overlapping writes may end in any order', async () => {
  const recordOf = initialRecords(WORKLOAD, 5);
  const table = new Map(
    Array.from({ length: 10 }, (_, number) => [recordOf(number).key, recordOf(number).values]),
  );
  const [key] = table.keys();
  const has = (value: string) => (asked: string) =>
    asked === key ? { ...table.get(asked)!, field0: value } : table.get(asked)!;
  const writes = new SampledWrites(WORKLOAD, 5);
  const damaged = async (value: string): Promise<number> => (await verified(writes, has(value))).damaged;
  const initial = table.get(key!)!.field0!;
  assert.equal(await damaged(initial), 0);
  assert.equal(await damaged('another'), 1);
  writes.writing('update', key!, { field0: 'first' })!('OK');
  assert.deepEqual([await damaged(initial), await damaged('first')], [1, 0]);
  const left = writes.writing('update', key!, { field0: 'left' })!;
  const right = writes.writing('update', key!, { field0: 'right' })!;
  left('OK');
  right('OK');
  assert.deepEqual([await damaged('first'), await damaged('left'), await damaged('right')], [1, 0, 0]);
  // The outcome of a write that timed out is unknown: it can take effect later.
  writes.writing('update', key!, { field0: 'late' })!('TIMEOUT');
  writes.writing('update', key!, { field0: 'last' })!('OK');
  assert.deepEqual([await damaged('right'), await damaged('late'), await damaged('last')], [1, 0, 0]);
  writes.restart();
  assert.deepEqual([await damaged(initial), await damaged('last')], [0, 1]);
});
