import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metrics } from '@tidegauge/service';
import { BrokerReport, SIGNALS } from '../../src/broker-report.ts';

async function lines(report: BrokerReport): Promise<string[]> {
  const metrics = new Metrics();
  report.measure(metrics, () => true);
  return (await metrics.text()).split('\n').filter((line) => line.startsWith('mosquitto_'));
}

test('values of the broker become samples, with and without a unit', async () => {
  const report = new BrokerReport();
  report.take('$SYS/broker/uptime', '1234 seconds');
  report.take('$SYS/broker/publish/messages/dropped', '7');
  report.take('$SYS/broker/version', 'mosquitto version 2.0.11');
  report.take('$SYS/broker/load/messages/received/1min', '3.5');
  const shown = await lines(report);
  assert.deepEqual(
    shown.filter((line) => !line.startsWith('mosquitto_report_age_seconds ')),
    ['mosquitto_up 1', 'mosquitto_publish_dropped_total 7', 'mosquitto_uptime_seconds 1234'],
  );
});

test('values that the broker has not reported, or reported before it became unavailable, are absent', async () => {
  const report = new BrokerReport();
  assert.deepEqual(await lines(report), ['mosquitto_up 1']);
  report.take('$SYS/broker/uptime', '5 seconds');
  report.clear();
  assert.deepEqual(await lines(report), ['mosquitto_up 1']);
});

test('names follow the conventions: _total on counters only', () => {
  for (const { name, kind } of SIGNALS) assert.equal(name.endsWith('_total'), kind === 'counter', name);
});
