import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findProgram } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram } from '@tidegauge/process';
import mqtt from 'mqtt';
import { PYTHON, setUpSimulator } from '../../../../scripts/setup.js';
import { settled, setUp, storedReadings } from './helpers.ts';

// The usual MQTT clients, each with each version of MQTT that it has, publish the same messages with QoS 1 to mosquitto.

const client = await startOrSkip('mosquitto_pub', () => findProgram('mosquitto_pub', 'mosquitto-clients'));
const found = await startOrSkip('mosquitto', () => findProgram('mosquitto', 'mosquitto'));
const skip = 'skip' in found ? found.skip : 'skip' in client ? client.skip : false;

type Send = (port: number, topic: string, payload: string) => Promise<unknown>;

const PAHO = `
import sys
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
version, port, topic, payload = sys.argv[1:]
client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion(int(version)))
client.connect('127.0.0.1', int(port))
client.loop_start()
message = client.publish(topic, payload, qos=1)
message.wait_for_publish(20)
assert message.is_published()
client.disconnect()
client.loop_stop()
`;

const mosquittoPub =
  (version: string, ...more: readonly string[]): Send =>
  (port, topic, payload) => {
    const to = ['-h', '127.0.0.1', '-p', `${port}`, '-V', version, '-q', '1', '-t', topic, '-m', payload];
    return runProgram((client as { server: string }).server, [...to, ...more], { timeoutMs: 20_000 });
  };

const mqttJs =
  (protocolVersion: 4 | 5): Send =>
  async (port, topic, payload) => {
    const sender = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { protocolVersion });
    const properties = { contentType: 'application/json', messageExpiryInterval: 60 };
    await sender.publishAsync(topic, payload, { qos: 1, ...(protocolVersion === 5 ? { properties } : {}) });
    await sender.endAsync();
  };

const paho =
  (version: string): Send =>
  (port, topic, payload) =>
    runProgram(PYTHON, ['-c', PAHO, version, `${port}`, topic, payload], { timeoutMs: 40_000 });

const SENDERS: Readonly<Record<string, Send>> = {
  'mosquitto_pub, MQTT 3.1': mosquittoPub('mqttv31'),
  'mosquitto_pub, MQTT 3.1.1': mosquittoPub('mqttv311'),
  'mosquitto_pub, MQTT 5': mosquittoPub('mqttv5', '-D', 'publish', 'user-property', 'made-by', 'a test'),
  'MQTT.js, MQTT 3.1.1': mqttJs(4),
  'MQTT.js, MQTT 5': mqttJs(5),
  'paho, MQTT 3.1.1': paho('4'),
  'paho, MQTT 5': paho('5'),
};

test('MQTT clients write unchanged, with each version of MQTT', { skip }, async (context) => {
  await setUpSimulator();
  const { broker, start, store } = await setUp(context);
  const ingest = await start();
  const devices = Object.keys(SENDERS).map((_, index) => `site-1/sender-${index}`);
  for (const [index, [name, send]] of Object.entries(SENDERS).entries()) {
    await context.test(name, async () => {
      const topic = `sensors/${devices[index]}`;
      await send(broker.port, `${topic}/temperature`, '21.5');
      await send(broker.port, `${topic}/state`, '{"t":1795000000.25,"v":"über null","boot":"b","seq":0}');
    });
  }
  const { readings } = await settled(ingest);
  assert.deepEqual([readings.stored, readings.quarantined], [2 * devices.length, 0]);
  for (const device of devices) {
    const stored = await storedReadings(store, [device]);
    assert.deepEqual(stored.map(({ metric, value }) => [metric, value]).toSorted(), [
      ['state', 'über null'],
      ['temperature', 21.5],
    ]);
    assert.equal(stored.find(({ metric }) => metric === 'state')?.time, 1_795_000_000_250_000, device);
  }
});
