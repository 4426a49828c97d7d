import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metrics } from '@tidegauge/service';
import { BrokerReport, SIGNALS } from '../../src/broker-report.ts';

const DROPPED = 'mosquitto_publish_dropped_total';
const RECEIVED = 'mosquitto_publish_received_total';
const INTERVAL_MS = 6000;

/** A report whose broker has an uptime of a day, or another one, and a time that a test moves. */
class Given {
  now = 0;
  uptime: number;
  readonly report = new BrokerReport(() => this.now);
  readonly #metrics = new Metrics();

  constructor(uptime = 86_400) {
    this.uptime = uptime;
    this.report.measure(this.#metrics, () => true);
  }

  /** A report of the broker after an interval: values by topic. */
  reports(values: Readonly<Record<string, number>>): void {
    this.now += INTERVAL_MS;
    this.uptime += INTERVAL_MS / 1000;
    this.report.take('$SYS/broker/uptime', `${this.uptime} seconds`, false);
    for (const [topic, value] of Object.entries(values))
      this.report.take(`$SYS/broker/${topic}`, `${value}`, false);
  }

  /** What was shown when the values had grown to the last report. */
  async settled(): Promise<ReadonlyMap<string, number>> {
    this.now += INTERVAL_MS;
    const shown = await this.shown();
    this.now -= INTERVAL_MS;
    return shown;
  }

  async shown(): Promise<ReadonlyMap<string, number>> {
    const text = await this.#metrics.text();
    return new Map(
      [...text.matchAll(/^(mosquitto_\w+) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]),
    );
  }
}

test('counters are 0 from the start; what is true of the present only is absent until it is reported', async () => {
  const given = new Given();
  const counters = SIGNALS.filter(({ kind }) => kind === 'counter').map(({ name }) => [name, 0]);
  assert.deepEqual([...(await given.shown())], [['mosquitto_up', 1], ...counters]);
  given.report.take('$SYS/broker/version', 'mosquitto version 2.0.11', false);
  given.report.take('$SYS/broker/load/messages/received/1min', '3.5', false);
  given.reports({ 'clients/connected': 3, 'clients/total': 5 });
  const shown = await given.shown();
  assert.equal(shown.get('mosquitto_uptime_seconds'), 86_406);
  assert.equal(shown.get('mosquitto_report_age_seconds'), 0);
  // A broker that keeps no retained messages reports this one only when it changes.
  assert.equal(shown.get('mosquitto_clients_disconnected'), 2);
  assert.equal(shown.has('mosquitto_stored_messages'), false);
  given.report.clear();
  assert.deepEqual([...(await given.shown())], [['mosquitto_up', 1], ...counters]);
});

test('the first loss counts from 0, even in the first report; the first number of other counters is a start', async () => {
  const given = new Given();
  given.reports({ 'publish/messages/received': 1_000_000, 'publish/messages/dropped': 400 });
  const first = await given.settled();
  assert.equal(first.get(DROPPED), 400);
  assert.equal(first.get(RECEIVED), 0);
  given.reports({ 'publish/messages/received': 1_000_300, 'publish/messages/dropped': 401 });
  const second = await given.settled();
  assert.equal(second.get(DROPPED), 401);
  assert.equal(second.get(RECEIVED), 300);
});

test('retained values are old: they do not count', async () => {
  const given = new Given();
  given.report.take('$SYS/broker/publish/messages/dropped', '1400', true);
  given.report.take('$SYS/broker/uptime', '86400 seconds', true);
  given.reports({});
  assert.equal((await given.settled()).get(DROPPED), 0);
  given.reports({ 'publish/messages/dropped': 1403 });
  assert.equal((await given.settled()).get(DROPPED), 3);
});

test('a broker that has just started has counted nothing old', async () => {
  const given = new Given(2);
  given.reports({ 'publish/messages/received': 7 });
  assert.equal((await given.settled()).get(RECEIVED), 7);
});

test('a restart of the broker, and a lost connection, lose no count', async () => {
  const given = new Given();
  given.reports({ 'publish/messages/received': 100, 'publish/messages/dropped': 5 });
  given.reports({ 'publish/messages/received': 150 });
  given.report.clear();
  // Not restarted: what was counted in the meantime is known.
  given.reports({ 'publish/messages/received': 170, 'publish/messages/dropped': 8 });
  assert.equal((await given.settled()).get(RECEIVED), 70);
  assert.equal((await given.settled()).get(DROPPED), 8);
  given.report.clear();
  given.uptime = 0;
  given.reports({ 'publish/messages/received': 400, 'publish/messages/dropped': 2 });
  assert.equal((await given.settled()).get(RECEIVED), 470);
  assert.equal((await given.settled()).get(DROPPED), 10);
});

test('what has not changed is shown again after a lost connection, and not after a restart of the broker', async () => {
  const given = new Given();
  given.reports({ 'store/messages/count': 1000 });
  given.report.clear();
  assert.equal((await given.shown()).has('mosquitto_stored_messages'), false);
  given.reports({});
  assert.equal((await given.shown()).get('mosquitto_stored_messages'), 1000);
  given.report.clear();
  given.uptime = 0;
  given.reports({});
  assert.equal((await given.shown()).has('mosquitto_stored_messages'), false);
});

test('a rate of scrapes every 5 s has no beat, although the broker reports every 6 s', async () => {
  const given = new Given();
  const scrapes: number[] = [];
  let received = 1000;
  for (let second = 0; second <= 240; second++) {
    if (second % 6 === 0) {
      given.now = second * 1000 - INTERVAL_MS;
      given.reports({ 'publish/messages/received': received });
      received += 300;
    }
    given.now = second * 1000;
    if (second % 5 === 0) scrapes.push((await given.shown()).get(RECEIVED)!);
  }
  // Five samples, as `rate` uses in a range of four scrapes, after the first reports.
  const rates = scrapes.slice(4, -4).map((first, index) => (scrapes[index + 8]! - first) / 20);
  assert.ok(rates.length > 30);
  for (const rate of rates) assert.ok(Math.abs(rate - 50) < 0.5, `${rate} messages/s instead of 50`);
});

test('one lost message is shown at once, and values only grow', async () => {
  const given = new Given();
  given.reports({});
  given.reports({ 'publish/messages/dropped': 1 });
  given.now += 1;
  assert.equal((await given.shown()).get(DROPPED), 1);
  let last = 1;
  given.reports({ 'publish/messages/dropped': 101 });
  for (let step = 0; step < 70; step++) {
    given.now += 100;
    const value = (await given.shown()).get(DROPPED)!;
    assert.ok(value >= last && Number.isInteger(value), `${value} after ${last}`);
    last = value;
  }
  assert.equal(last, 101);
});

test('names follow the conventions: _total on counters only', () => {
  for (const { name, kind } of SIGNALS) assert.equal(name.endsWith('_total'), kind === 'counter', name);
});
