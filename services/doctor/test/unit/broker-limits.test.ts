import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkBroker } from '../../src/broker.ts';
import { type BrokerLimits, checkLimits, type Flow, parseMosquittoConf } from '../../src/broker-limits.ts';
import { totals } from '../../src/ingest.ts';
import { only } from '../support/findings.ts';

const FLOW: Flow = {
  rate: 1000,
  messageBytes: 100,
  replicas: 1,
  pace: 0.003,
  maxInFlight: 8000,
  commit: { seconds: 0.017, source: 'measured' },
  memory: 128 * 2 ** 20,
};
const LIMITS: BrokerLimits = {
  inflight: 0,
  queuedMessages: 1_000_000,
  queuedBytes: 67_108_864,
  persistence: true,
};

test("a mosquitto.conf is read with mosquitto's defaults and the settings that its service adds at start", () => {
  assert.deepEqual(parseMosquittoConf('listener 1883\n# max_inflight_messages 5\n', {}), {
    inflight: 20,
    queuedMessages: 1000,
    queuedBytes: 0,
    persistence: false,
  });
  const conf = 'max_inflight_messages 0\npersistence true\nmax_queued_messages 5\n';
  assert.deepEqual(
    parseMosquittoConf(conf, { MAX_QUEUED_MESSAGES: '100000', MAX_QUEUED_BYTES: '33554432' }),
    {
      inflight: 0,
      queuedMessages: 100_000,
      queuedBytes: 33_554_432,
      persistence: true,
    },
  );
});

test('queues that a plugin of mosquitto 2.1 keeps are on disk', () => {
  for (const line of [
    'global_plugin /usr/lib/mosquitto_persist_sqlite.so',
    'plugin /opt/mosquitto_persist_lmdb.so',
  ]) {
    assert.equal(parseMosquittoConf(`persistence false\n${line}\n`, {}).persistence, true, line);
  }
  assert.equal(parseMosquittoConf('plugin /usr/lib/mosquitto_dynamic_security.so\n', {}).persistence, false);
});

test("the ceiling is the window divided by batch and commit time: mosquitto's default of 20 does not allow 1,000 messages/s", () => {
  const findings = checkLimits({ ...LIMITS, inflight: 20 }, { ...FLOW, rate: 1001 });
  const finding = only(findings, 'broker.ceiling', 'error');
  assert.match(
    finding.message,
    /allows 1,000 messages\/s: 20 in flight \(max_inflight_messages\) \/ \(3\.0 ms batch \+ 17 ms commit/,
  );
  assert.match(finding.fix!, /max_inflight_messages 0 \(or 41\)/);
});

test('a reserve to catch up is required, replicas add up, and ingest limits a wide window', () => {
  only(checkLimits({ ...LIMITS, inflight: 30 }, FLOW), 'broker.ceiling', 'warning');
  only(checkLimits({ ...LIMITS, inflight: 30 }, { ...FLOW, replicas: 2 }), 'broker.ceiling', 'ok');
  const wide = only(checkLimits(LIMITS, { ...FLOW, rate: 500_000 }), 'broker.ceiling', 'error');
  assert.match(wide.message, /8,000 in flight \(MAX_IN_FLIGHT of ingest\)/);
  only(checkLimits(LIMITS, { ...FLOW, rate: null }), 'broker.ceiling', 'ok');
  only(checkLimits(LIMITS, { ...FLOW, commit: null }), 'broker.ceiling', 'unknown');
});

test('the size of a queue is reported as a time, by messages and by bytes', () => {
  const small = only(checkLimits({ ...LIMITS, queuedMessages: 1000 }, FLOW), 'broker.queue', 'error');
  assert.match(small.message, /1\.0 s at 1,000\/s, then mosquitto drops/);
  assert.match(small.fix!, /set max_queued_messages to 600000 \(MOSQUITTO_QUEUED_MESSAGES .* about 315 MiB/);
  const bytes = only(checkLimits({ ...LIMITS, queuedBytes: 20_000_000 }, FLOW), 'broker.queue', 'warning');
  assert.match(bytes.fix!, /set max_queued_bytes to 60000000/);
  only(checkLimits(LIMITS, FLOW), 'broker.queue', 'ok');
  only(checkLimits({ ...LIMITS, queuedMessages: 0, queuedBytes: 0 }, FLOW), 'broker.queue', 'error');
});

test("a queue that does not fit the broker's memory is an error", () => {
  only(checkLimits(LIMITS, FLOW), 'broker.memory', 'error');
  const shipped = { ...LIMITS, queuedMessages: 100_000, queuedBytes: 33_554_432 };
  assert.match(
    only(checkLimits(shipped, FLOW), 'broker.memory', 'ok').message,
    /75 MiB of the broker's 128 MiB/,
  );
  only(checkLimits(shipped, { ...FLOW, replicas: 3 }), 'broker.memory', 'error');
});

test('drops, missing shared subscriptions and an unreachable broker are reported', () => {
  const said = {
    inflight: 0,
    sharedSubscriptions: true,
    maximumPacketSize: null,
    version: 'mosquitto version 2.0.22',
  };
  only(checkBroker('mqtt://b', { ...said, dropped: 0 }), 'broker.dropped', 'ok');
  only(checkBroker('mqtt://b', { ...said, dropped: 7 }), 'broker.dropped', 'warning');
  only(checkBroker('mqtt://b', { ...said, dropped: null }), 'broker.dropped', 'unknown');
  only(
    checkBroker('mqtt://b', { ...said, dropped: 0, sharedSubscriptions: false }),
    'broker.shared',
    'error',
  );
  only(checkBroker('mqtt://b', { why: 'ECONNREFUSED' }), 'broker.connection', 'error');
});

test('commit times count writes of readings only', () => {
  const text = [
    'tidegauge_store_seconds_sum{backend="postgres",op="readings.write"} 3.5',
    'tidegauge_store_seconds_count{backend="postgres",op="readings.write"} 700',
    'tidegauge_store_seconds_sum{backend="postgres",op="health"} 9',
    'tidegauge_store_seconds_count{backend="postgres",op="health"} 9',
    'tidegauge_store_seconds_bucket{backend="postgres",op="readings.write",le="0.1"} 700',
  ].join('\n');
  assert.deepEqual(totals(text), { sum: 3.5, count: 700 });
});
