import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePorts, listens } from '@tidegauge/process';

test('free ports differ, can be listened on, and are not given to outgoing connections', async () => {
  const [first] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t').map(Number);
  const ports = await freePorts(20);
  assert.equal(new Set(ports).size, 20);
  for (const port of ports) {
    assert.ok(port < first!, `${port} is in the range of outgoing connections`);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    assert.ok(await listens(port));
    await once(server.close(), 'close');
  }
});

test('ports of several hosts are free on each of them', async () => {
  const hosts = ['127.0.0.1', '127.0.0.2'];
  for (const port of await freePorts(5, ...hosts)) {
    for (const host of hosts) {
      const server = createServer().listen(port, host);
      await once(server, 'listening');
      await once(server.close(), 'close');
    }
  }
});
