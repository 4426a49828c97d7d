import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Audit, createLogger, type Logger, tokenPrincipal } from '../../../src/index.ts';

function start() {
  const lines: object[] = [];
  const logger = Object.assign(Object.create(createLogger('test', 'silent')) as Logger, {
    info: (fields: { audit: object }, message: string) => {
      assert.equal(message, 'audit');
      lines.push(fields.audit);
    },
  });
  const audit = new Audit(logger, () => Date.UTC(2026, 10, 23));
  const change = {
    principal: tokenPrincipal('API_TOKEN'),
    client: '192.0.2.7',
    action: 'putDevice',
    resource: '/v1/devices/a',
    status: 200,
    isData: false,
  };
  return { audit, lines, change };
}

test('each change is an entry and a line, and the outcome is that of the status', () => {
  const { audit, lines, change } = start();
  for (const status of [201, 403, 503]) audit.record({ ...change, status });
  assert.deepEqual(lines[0], {
    time: '2026-11-23T00:00:00.000Z',
    kind: 'token',
    sender: 'API_TOKEN',
    client: '192.0.2.7',
    action: 'putDevice',
    resource: '/v1/devices/a',
    outcome: 'done',
    status: 201,
    count: 1,
  });
  assert.deepEqual(
    audit.list(10).map(({ outcome }) => outcome),
    ['failed', 'refused', 'done'],
  );
});

test('equal changes of data are counted, and different ones are not mixed', () => {
  const { audit, lines, change } = start();
  const data = { ...change, action: 'deliverReadings', isData: true };
  for (let index = 0; index < 1000; index++) audit.record(data);
  audit.record({ ...data, client: '192.0.2.8' });
  audit.record({ ...data, status: 503 });
  assert.equal(lines.length, 3);
  audit.flush();
  assert.deepEqual(
    audit.list(10).map(({ count }) => count),
    [999, 1, 1, 1],
  );
  audit.record(data);
  assert.equal(lines.length, 5, 'the next window begins with a line');
});

test('equal refusals are counted, with the first of their resources', () => {
  const { audit, lines, change } = start();
  const refused = { ...change, status: 403 };
  for (let index = 0; index < 1000; index++) audit.record({ ...refused, resource: `/v1/devices/${index}` });
  for (const action of ['putDevice', 'deleteDevice']) audit.record({ ...change, action });
  assert.equal(lines.length, 3);
  audit.flush();
  const [last] = audit.list(1);
  assert.deepEqual([last!.resource, last!.outcome, last!.count], ['/v1/devices/0', 'refused', 999]);
});

test('a sender cannot log more by refusals of many kinds, and those of others are separate', () => {
  const { audit, lines, change } = start();
  const refused = { ...change, status: 404 };
  for (let index = 0; index < 3000; index++)
    audit.record({ ...refused, client: `192.0.2.${index % 200}`, action: `POST /${index}` });
  assert.equal(lines.length, 51);
  for (const action of ['putDevice', 'deleteDevice'])
    audit.record({ ...refused, principal: tokenPrincipal('READ_TOKEN'), action });
  assert.equal(lines.length, 53);
  audit.flush();
  const [last] = audit.list(1);
  assert.deepEqual([last!.action, last!.count], ['others', 2949]);
});

test('entries are bounded in number and length', () => {
  const { audit, change } = start();
  for (let index = 0; index < 1100; index++)
    audit.record({
      ...change,
      action: `POST /${'x'.repeat(1000)}`,
      resource: `/${index}${'x'.repeat(1000)}`,
    });
  const entries = audit.list(5000);
  assert.equal(entries.length, 1000);
  assert.match(entries[0]!.resource, /^\/1099x{295}$/);
  assert.match(entries[0]!.action, /^POST \/x{58}$/);
});

test('a sender with many changes does not remove the entries of others', () => {
  const { audit, change } = start();
  audit.record({ ...change, resource: '/other', client: '192.0.2.8' });
  for (let index = 0; index < 2000; index++) audit.record({ ...change, resource: `/${index}` });
  const resources = audit.list(5000).map(({ resource }) => resource);
  assert.deepEqual([resources.length, resources[0], resources.at(-1)], [1000, '/1999', '/other']);
});
