import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { HBaseClient } from '../../src/index.ts';
import { readOptions } from '../../src/options.ts';

test('hosts are a text or a list, with or without ports', () => {
  const { zookeeper } = readOptions({ zookeeper: 'zk1, zk2:2182,[::1]:2183' });
  assert.deepEqual(zookeeper, [
    { host: 'zk1', port: 2181 },
    { host: 'zk2', port: 2182 },
    { host: '::1', port: 2183 },
  ]);
  assert.deepEqual(readOptions({ masters: ['m1'] }).masters, [{ host: 'm1', port: 16_000 }]);
});

test('an invalid option is a TypeError with its name', () => {
  assert.throws(() => new HBaseClient({}), /zookeeper or masters/);
  assert.throws(() => new HBaseClient({ zookeeper: 'a', masters: 'b' }), /zookeeper or masters/);
  assert.throws(() => new HBaseClient({ zookeeper: 'a:99999' }), /zookeeper has host or host:port/);
  assert.throws(() => new HBaseClient({ zookeeper: 'a', znodeParent: 'hbase' }), /znodeParent/);
  assert.throws(() => new HBaseClient({ zookeeper: 'a', timeoutMs: 0 }), /timeoutMs is a whole number/);
});

test('an operation that HBase cannot store is a TypeError before anything is sent', async () => {
  const client = new HBaseClient({ zookeeper: '127.0.0.1:1' });
  assert.throws(() => client.table('two words'), TypeError);
  const table = client.table('ns:table');
  const cell = { family: 'f', qualifier: 'q', value: 'v' };
  await assert.rejects(table.put('', [cell]), TypeError);
  await assert.rejects(table.put('row', []), TypeError);
  await assert.rejects(table.put('row', [{ ...cell, timestamp: -1 }]), TypeError);
  await assert.rejects(table.put('r'.repeat(40_000), [cell]), TypeError);
  await assert.rejects(
    table.checkAndMutate('row', { family: 'f', qualifier: 'q', value: null }, []),
    TypeError,
  );
  assert.throws(() => table.scan({ limit: 1.5 }), TypeError);
  client.close();
});

test('a user without a name in the system, as in a container, has the user id as name', {
  skip: process.getuid!() !== 0 && 'only root can change its user',
}, () => {
  const options = new URL('../../src/options.ts', import.meta.url);
  const program = `
      import { readOptions } from ${JSON.stringify(options.href)};
      process.setuid(54321);
      process.stdout.write(readOptions({ zookeeper: 'h' }).user);`;
  const said = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  assert.equal(said, '54321');
});
