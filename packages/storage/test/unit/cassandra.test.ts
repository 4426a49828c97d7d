import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import driver from 'cassandra-driver';
import { reading, T0 } from '../../conformance/data.ts';
import { readConfig } from '../../src/cassandra/config.ts';
import { toStoreError } from '../../src/cassandra/errors.ts';
import { fromReading } from '../../src/cassandra/mapping.ts';
import { partition, requests } from '../../src/cassandra/partition.ts';
import { MicrosecondTimestamps } from '../../src/cassandra/policies.ts';
import { requests as recordRequests } from '../../src/cassandra/record-requests.ts';
import { BUCKET_US } from '../../src/cassandra/schema.ts';
import { parseUrl, StoreError, type StoreErrorCode } from '../../src/index.ts';

const { errors } = driver;
const { responseErrorCodes } = driver.types;

function codeOf(error: unknown): StoreErrorCode {
  const mapped = toStoreError(error, 'h:9042/k');
  assert.ok(mapped instanceof StoreError, `${error} is not mapped`);
  assert.match(mapped.message, /h:9042\/k/);
  assert.ok(mapped.hint);
  return mapped.code;
}

const RESPONSES: Readonly<Record<keyof typeof responseErrorCodes, StoreErrorCode>> = {
  serverError: 'UNEXPECTED',
  protocolError: 'UNAVAILABLE',
  badCredentials: 'MISCONFIGURED',
  unavailableException: 'UNAVAILABLE',
  overloaded: 'OVERLOADED',
  isBootstrapping: 'UNAVAILABLE',
  truncateError: 'UNAVAILABLE',
  writeTimeout: 'TIMEOUT',
  readTimeout: 'TIMEOUT',
  readFailure: 'UNAVAILABLE',
  functionFailure: 'UNEXPECTED',
  writeFailure: 'UNAVAILABLE',
  syntaxError: 'MISCONFIGURED',
  unauthorized: 'MISCONFIGURED',
  invalid: 'MISCONFIGURED',
  configError: 'MISCONFIGURED',
  alreadyExists: 'UNAVAILABLE',
  unprepared: 'UNAVAILABLE',
  clientWriteFailure: 'UNAVAILABLE',
};

test('every error code of a server is mapped', () => {
  for (const [name, code] of Object.entries(responseErrorCodes)) {
    const expected = RESPONSES[name as keyof typeof RESPONSES];
    assert.equal(codeOf(new errors.ResponseError(code as number, 'said')), expected, name);
  }
  const large = new errors.ResponseError(
    responseErrorCodes.invalid,
    'Mutation is too large for the maximum size',
  );
  assert.equal(codeOf(large), 'REJECTED');
});

/** An error of a class whose constructor is not in the driver's types. */
function bare(name: string): unknown {
  return Object.create((errors as unknown as Record<string, { prototype: object }>)[name]!.prototype);
}

test('every error class of the driver is mapped', () => {
  const made: Record<string, [unknown, StoreErrorCode]> = {
    ArgumentError: [new errors.ArgumentError('no such dc'), 'MISCONFIGURED'],
    AuthenticationError: [new errors.AuthenticationError('no'), 'MISCONFIGURED'],
    BusyConnectionError: [new errors.BusyConnectionError('h', 1, 1), 'OVERLOADED'],
    DriverError: [bare('DriverError'), 'UNEXPECTED'],
    DriverInternalError: [new errors.DriverInternalError('odd'), 'UNEXPECTED'],
    NoHostAvailableError: [new errors.NoHostAvailableError({}, 'none'), 'UNAVAILABLE'],
    NotSupportedError: [new errors.NotSupportedError('old'), 'MISCONFIGURED'],
    OperationTimedOutError: [new errors.OperationTimedOutError('late', 'h'), 'TIMEOUT'],
    ResponseError: [new errors.ResponseError(0x7777, 'new'), 'UNEXPECTED'],
    VIntOutOfRangeException: [bare('VIntOutOfRangeException'), 'UNEXPECTED'],
  };
  assert.deepEqual(Object.keys(made).sort(), Object.keys(errors).sort());
  for (const [name, [error, code]] of Object.entries(made)) assert.equal(codeOf(error), code, name);
});

test('a configuration error comes first when several hosts fail', () => {
  const hosts = (...inner: unknown[]) =>
    new errors.NoHostAvailableError(
      Object.fromEntries(inner.map((error, index) => [`h${index}`, error])) as never,
    );
  const late = new errors.OperationTimedOutError('late', 'h');
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { syscall: 'connect' });
  // The error of the driver when a node is killed.
  const closed = Object.assign(bare('DriverError') as object, { isSocketError: true });
  assert.equal(codeOf(hosts(refused)), 'UNAVAILABLE');
  assert.equal(codeOf(hosts(closed)), 'UNAVAILABLE');
  assert.equal(codeOf(hosts(refused, late)), 'TIMEOUT');
  assert.equal(codeOf(hosts(late, new errors.AuthenticationError('no'))), 'MISCONFIGURED');
});

test('errors that do not come from the driver stay as they are', () => {
  const error = new TypeError('ours');
  assert.equal(toStoreError(error, 'h'), error);
});

test('reads hosts, port, keyspace and options of the URL', () => {
  const config = readConfig(parseUrl('cassandra://u:p%40@a:9,[::1]:9/ks?rf=3&write=ONE&read=QUORUM&ttl=60'));
  assert.deepEqual(config.hosts, ['a:9', '[::1]:9']);
  const { port, user, password, keyspace, rf, write, read, ttl, strategy } = config;
  assert.deepEqual(
    { port, user, password, keyspace, rf, write, read, ttl, strategy },
    ...[
      {
        port: 9,
        user: 'u',
        password: 'p@',
        keyspace: 'ks',
        rf: 3,
        write: 'ONE',
        read: 'QUORUM',
        ttl: 60,
        strategy: 'network',
      },
    ],
  );
});

test('refuses a URL without host or keyspace, with several ports, or with an unknown level', () => {
  for (const url of [
    'cassandra:ks',
    'cassandra://h',
    'cassandra://h/a-b',
    'cassandra://a:1,b:2/k',
    'cassandra://h/k?read=ANY',
  ]) {
    assert.throws(() => readConfig(parseUrl(url)), { code: 'MISCONFIGURED' }, url);
  }
});

test('sorts a batch into partitions of one series and day, in which the last of equal times stays', () => {
  const rows = [
    reading({ device: 'a', value: 1 }),
    reading({ device: 'a', time: T0 + BUCKET_US, value: 2 }),
    reading({ device: 'b', value: 3 }),
    reading({ device: 'a', value: 4 }),
    reading({ device: 'a', metric: 'm', value: 5 }),
    reading({ device: 'a', time: T0 + 1, value: 6 }),
  ];
  const sorted = partition(rows).map((each) => each.rows.map(({ value }) => value));
  assert.deepEqual(sorted, [[4, 6], [2], [3], [5]]);
});

const spread = (devices: number, each: number, value: string | number = 1) =>
  partition(
    Array.from({ length: devices * each }, (_, row) =>
      reading({ device: `d${row % devices}`, time: T0 + Math.floor(row / devices), value }),
    ),
  );
const sizes = (packed: Iterable<readonly { rows: readonly unknown[] }[]>) =>
  [...packed].map((parts) => parts.map(({ rows }) => rows.length));

test('small partitions share a request, and large ones have several', () => {
  assert.deepEqual(sizes(requests(spread(7, 10), () => '')), [[10, 10, 10], [10, 10, 10], [10]]);
  assert.deepEqual(sizes(requests(spread(2, 20), () => '')), [[20], [20]]);
  assert.deepEqual(sizes(requests(spread(2, 120), () => '')), [[50], [50], [20], [50], [50], [20]]);
});

test('partitions on different nodes do not share a request', () => {
  const nodeOf = ({ device }: { device: string }) => (device < 'd2' ? 'one' : 'two');
  assert.deepEqual(
    [...requests(spread(4, 5), nodeOf)].map((parts) => parts.map(({ device }) => device)),
    [
      ['d0', 'd1'],
      ['d2', 'd3'],
    ],
  );
});

test('a request for several partitions stays below the size at which Cassandra logs a warning', () => {
  assert.deepEqual(sizes(requests(spread(3, 1, 'x'.repeat(2000)), () => '')), [[1, 1], [1]]);
  assert.deepEqual(sizes(requests(spread(2, 1, 'x'.repeat(60_000)), () => '')), [[1], [1]]);
});

test('leaves missing fields unset, because a null would be a tombstone', () => {
  const row = fromReading(reading({ device: 'a', value: 'text' }), 1);
  assert.deepEqual(row, [
    'a',
    'temperature',
    1,
    T0,
    undefined,
    'text',
    T0 + 1500,
    undefined,
    undefined,
    0b100,
  ]);
});

/** A record as YCSB makes it by default. */
function ycsbRecord(number: number, length = 100) {
  const names = Array.from({ length: 10 }, (_, index) => `field${index}`);
  return {
    key: `user${number}`.padEnd(23, '7'),
    fields: Object.fromEntries(names.map((name) => [name, 'x'.repeat(length)])),
  };
}

test('records are packed into requests that no server warns about, each for one node', () => {
  const records = Array.from({ length: 100 }, (_, number) => ycsbRecord(number));
  const nodeOf = (key: string) => `node${Number(/\d/.exec(key)![0]) % 2}`;
  const all = [...recordRequests(records, nodeOf)];
  for (const some of all) assert.equal(new Set(some.map(({ key }) => nodeOf(key))).size, 1);
  const sizes = all.map(({ length }) => length);
  assert.equal(Math.max(...sizes), 4);
  assert.ok(sizes.length <= 26, `${sizes.length} requests`);
  assert.deepEqual(new Set(all.flat()), new Set(records));
});

test('a large record has its own request, and small ones share a request of at most ten', () => {
  const large = Array.from({ length: 3 }, (_, number) => ycsbRecord(number, 1000));
  assert.deepEqual(
    [...recordRequests(large, () => '')].map(({ length }) => length),
    [1, 1, 1],
  );
  const small = Array.from({ length: 25 }, (_, number) => ({ key: `k${number}`, fields: { field0: 'x' } }));
  assert.deepEqual(
    [...recordRequests(small, () => '')].map(({ length }) => length),
    [10, 10, 5],
  );
});

test('of writes of two processes, the later one has the later timestamp', () => {
  let clock = Date.UTC(2026, 10, 21) * 1000 + 10;
  const writers = [new MicrosecondTimestamps(() => clock), new MicrosecondTimestamps(() => clock)];
  for (let write = 0; write < 5; write += 1) {
    // In one millisecond.
    clock += 50;
    const originals = [writers[0]!.next(), writers[0]!.next()];
    clock += 50;
    assert.ok(writers[1]!.next() > originals[1]!);
  }
});

test('write timestamps of a process ascend when its clock steps back', () => {
  let clock = 1000;
  const writer = new MicrosecondTimestamps(() => clock);
  assert.equal(writer.next(), 1000);
  clock = 10;
  assert.equal(writer.next(), 1001);
  clock = 2000;
  assert.equal(writer.next(), 2000);
});

test('write timestamps of real processes follow each other within a millisecond', async () => {
  const url = new URL('../../src/cassandra/policies.ts', import.meta.url).href;
  const script = `
    const { processTimestamps } = await import(${JSON.stringify(url)});
    process.on('message', () => process.send(processTimestamps.next()));
    process.send('ready');`;
  const writers = await Promise.all(
    [1, 2].map(async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      await once(child, 'message');
      return child;
    }),
  );
  const ask = async (writer: number): Promise<number> => {
    writers[writer]!.send('next');
    return ((await once(writers[writer]!, 'message')) as [number])[0];
  };
  try {
    let last = 0;
    for (let write = 0; write < 400; write += 1) {
      const next = await ask(write % 2);
      assert.ok(next > last, `write ${write}: ${next} after ${last}`);
      last = next;
    }
  } finally {
    for (const writer of writers) writer.kill();
  }
});
