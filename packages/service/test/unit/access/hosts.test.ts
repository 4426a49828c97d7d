import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Hosts } from '../../../src/index.ts';
import { makeCertificate } from '../../certificates.ts';

const LOCAL = ['localhost', 'LOCALHOST:8080', '127.0.0.1:80', '[::1]:8080', 'localhost.'];
const FOREIGN = [
  'evil.example',
  'evil.example:8080',
  '127.0.0.1.evil.example',
  `${hostname()}.evil.example`,
  'localhost@evil.example',
  'evil.example#localhost',
  '0x7f.1.evil.example',
  '192.0.2.7.evil.example',
];

test('on loopback local names are served, and names in the list', () => {
  const hosts = new Hosts('127.0.0.1', ['gauge.example']);
  for (const host of [...LOCAL, 'gauge.example', 'Gauge.Example:443']) assert.ok(hosts.isServed(host), host);
  for (const host of [...FOREIGN, '192.0.2.7', '', 'sub.gauge.example'])
    assert.ok(!hosts.isServed(host), host);
});

test('beyond loopback addresses and the own name are served, and foreign names are not', () => {
  const hosts = new Hosts('0.0.0.0', []);
  for (const host of [
    ...LOCAL,
    '192.0.2.7:8080',
    '[2001:db8::1]',
    '',
    hostname(),
    `${hostname()}.local:8080`,
  ])
    assert.ok(hosts.isServed(host), host);
  for (const host of FOREIGN) assert.ok(!hosts.isServed(host), host);
  for (let index = 0; index < 1000; index++) assert.ok(!hosts.isServed(`${index}.example`));
  assert.ok(new Hosts('0.0.0.0', ['*']).isServed('evil.example'));
});

test('the names of the certificate are served', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-hosts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const hosts = new Hosts('0.0.0.0', [], makeCertificate(folder, 'board-7').cert);
  assert.ok(hosts.isServed('localhost'));
  for (const host of FOREIGN) assert.ok(!hosts.isServed(host), host);
});
