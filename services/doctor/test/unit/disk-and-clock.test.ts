import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkCardLife, readDiskWrites } from '../../src/card-life.ts';
import { checkClock, readClock } from '../../src/clock.ts';
import { checkDisk, type Disk, findMedium, findMount } from '../../src/disk.ts';
import { fromDate } from '../../src/ingest.ts';
import { PI_3B, recorded } from '../support/board-files.ts';
import { only } from '../support/findings.ts';

function disk(path: string, change: Partial<Disk> = {}): Disk {
  const mount = findMount(PI_3B, path);
  return {
    directory: path,
    measured: path,
    mount,
    medium: mount === null ? null : findMedium(PI_3B, mount),
    free: { bytes: 20 * 2 ** 30, total: 30 * 2 ** 30, inodes: 1_000_000 },
    fsync: { p50: 0.008, p99: 0.09, writes: 300 },
    ...change,
  };
}

test('the longest mount point above a directory is its file system, and /sys determines the kind of device', () => {
  assert.deepEqual(disk('/var/lib/docker').medium, 'SD card');
  assert.equal(findMount(PI_3B, '/var/lib/tidegauge/postgres')?.type, 'vfat');
  assert.equal(findMount(PI_3B, '/var/lib/tidegauge-2')?.type, 'ext4');
  assert.equal(disk('/var/lib/tidegauge').medium, 'USB');
  assert.equal(findMount(PI_3B, '/mnt/my disk/data')?.device, '8:17');
});

test('an SD card is a warning; FAT and a disk without barriers are errors', () => {
  only(checkDisk(disk('/srv')), 'disk.directory', 'warning');
  only(checkDisk(disk('/srv')), 'disk.filesystem', 'ok');
  only(checkDisk(disk('/var/lib/tidegauge')), 'disk.directory', 'ok');
  assert.match(only(checkDisk(disk('/var/lib/tidegauge')), 'disk.filesystem', 'error').fix!, /mkfs\.ext4/);
  assert.match(only(checkDisk(disk('/mnt/my disk')), 'disk.filesystem', 'error').message, /barriers/);
  only(checkDisk(disk('/srv', { mount: null, medium: null })), 'disk.filesystem', 'unknown');
});

test('a read-only mount in a container is not an error, a read-only file system is', () => {
  const seen = (options: string, own: string) =>
    findMount(
      recorded({ '/proc/self/mountinfo': `9 8 8:2 / /host ${options} - ext4 /dev/sda2 ${own}\n` }),
      '/host',
    );
  assert.ok(!seen('ro,relatime', 'rw')!.options.includes('ro'));
  const mount = seen('rw,relatime', 'ro,errors=remount-ro');
  only(checkDisk(disk('/srv', { mount, medium: 'USB' })), 'disk.filesystem', 'error');
});

test('the cost of a commit is explained, and a high cost is a warning', () => {
  const fine = only(checkDisk(disk('/srv')), 'disk.fsync', 'ok');
  assert.match(fine.message, /8\.0 ms \(p99 90 ms.*at most 125 commits\/s/);
  only(checkDisk(disk('/srv', { fsync: { p50: 0.03, p99: 0.8, writes: 90 } })), 'disk.fsync', 'warning');
  const lies = only(
    checkDisk(disk('/srv', { fsync: { p50: 1e-5, p99: 2e-5, writes: 1000 } })),
    'disk.fsync',
    'warning',
  );
  assert.match(lies.message, /confirms before it has stored/);
  only(checkDisk(disk('/srv', { fsync: { why: 'EACCES' } })), 'disk.fsync', 'unknown');
});

test('free space is checked as an amount and as a share, and inodes too', () => {
  const free = (bytes: number, inodes: number | null, level: 'ok' | 'warning' | 'error') =>
    only(checkDisk(disk('/srv', { free: { bytes, total: 30 * 2 ** 30, inodes } })), 'disk.free', level);
  free(20 * 2 ** 30, null, 'ok');
  free(2.5 * 2 ** 30, 500_000, 'warning');
  free(100 * 2 ** 20, 500_000, 'error');
  free(20 * 2 ** 30, 900, 'error');
});

test('for a directory that does not exist its parent is measured, and the finding reports it', () => {
  const finding = only(checkDisk(disk('/srv', { directory: '/srv/tidegauge' })), 'disk.directory', 'warning');
  assert.match(finding.message, /\/srv\/tidegauge does not exist; \/srv is measured/);
});

const SYNCED = recorded({
  '/run/systemd/timesync/synchronized': '',
  '/etc/systemd/timesyncd.conf': '[Time]\n#NTP=\nNTP=ntp.example.org backup.example.org\n',
});

test('the state of timesyncd is read, and the clock is compared with its first configured server', () => {
  assert.deepEqual(readClock(SYNCED), { keeper: 'timesyncd', synchronised: true, server: 'ntp.example.org' });
  only(checkClock(readClock(SYNCED), []), 'clock.synchronised', 'ok');
  const lost = recorded({ '/run/systemd/timesync/other': '' });
  only(checkClock(readClock(lost), []), 'clock.synchronised', 'error');
});

test('a clock without a known time service is unknown, until another clock agrees', () => {
  const chrony = readClock(
    recorded({
      '/run/chrony/chronyd.sock': '',
      '/etc/chrony/chrony.conf': 'pool 2.debian.pool.ntp.org iburst\n',
    }),
  );
  assert.equal(chrony.server, '2.debian.pool.ntp.org');
  only(checkClock(chrony, []), 'clock.synchronised', 'unknown');
  const agrees = [{ source: 'NTP server a', offset: 0.004, uncertainty: 0.01 }];
  only(checkClock(chrony, agrees), 'clock.synchronised', 'ok');
  only(checkClock(readClock(recorded({})), agrees), 'clock.synchronised', 'warning');
  only(checkClock(readClock(recorded({})), []), 'clock.synchronised', 'unknown');
});

test('an offset counts beyond the uncertainty of its measurement, and above a minute it is an error', () => {
  const offset = (seconds: number | null, level: 'ok' | 'warning' | 'error' | 'unknown') =>
    only(
      checkClock(readClock(SYNCED), [{ source: 'x', offset: seconds, uncertainty: 0.6 }]),
      'clock.offset',
      level,
    ).message;
  assert.match(offset(0.9, 'ok'), /agrees with x/);
  assert.match(offset(-5, 'warning'), /5\.0 s ahead of x/);
  assert.match(offset(1_209_600, 'error'), /336 h behind x: readings are marked skewed/);
  offset(null, 'unknown');
});

test('a Date header is the middle of its second', () => {
  const date = fromDate(
    'x',
    'Sat, 21 Nov 2026 12:00:00 GMT',
    Date.parse('2026-11-21T12:00:00.200Z') / 1000,
    0.2,
  );
  assert.ok(Math.abs(date.offset! - 0.2) < 1e-6);
  assert.equal(date.uncertainty, 0.6);
  assert.equal(fromDate('x', null, 0, 0).offset, null);
});

test('the life of a card follows from its endurance and from what was written since the start', () => {
  const writes = (sectors: number, uptime: number) =>
    readDiskWrites(
      recorded({
        '/proc/uptime': `${uptime}.12 9.1\n`,
        '/sys/dev/block/8:17/stat': `  100 0 800 10 2000 0 ${sectors} 90 0 70 100 0 0 0 0 0 0\n`,
      }),
      disk('/mnt/my disk/data'),
    );
  // 10 GiB in ten days.
  const normal = writes((10 * 2 ** 30) / 512, 10 * 86_400);
  const fine = only(checkCardLife(normal, 20), 'disk.life', 'ok');
  assert.match(fine.message, /1024 MiB are written .* each day: a card for 20 TB lasts about 51\.0 years/);
  assert.match(only(checkCardLife(normal, null), 'disk.life', 'ok').message, /--card-tbw/);
  const soon = only(checkCardLife(writes((100 * 2 ** 30) / 512, 86_400), 20), 'disk.life', 'warning');
  assert.match(soon.message, /a card for 20 TB lasts about 186 days/);
  assert.match(soon.fix!, /filter/);
  only(checkCardLife(writes(1000, 600), 20), 'disk.life', 'unknown');
  only(checkCardLife(readDiskWrites(recorded({}), disk('/mnt/my disk/data')), 20), 'disk.life', 'unknown');
  assert.deepEqual(checkCardLife(null, null), []);
});
