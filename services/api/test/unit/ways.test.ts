import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waysTo } from '../../public/ways.js';

const PAGE = { host: 'board.lan', origin: 'https://board.lan:8080', isKeyNeeded: false };
const LOCAL = { port: 1883, tls: false, local: true, login: 'none' };

function textOf(name: string, given: object): string {
  const found = waysTo({ ...PAGE, addresses: [LOCAL], ...given }).ways.find((way) => way.name === name);
  assert.ok(found, name);
  return found.text;
}

test('each way has the address of the page and the port of MQTT', () => {
  const port = { addresses: [{ ...LOCAL, port: 1884 }] };
  assert.equal(
    textOf('mosquitto_pub', port),
    'mosquitto_pub -h board.lan -p 1884 -q 1 -t sensors/desk/temperature -m 21.5',
  );
  assert.match(textOf('Python', port), /^ {4}hostname='board\.lan', port=1884,$/m);
  assert.equal(textOf('ESPHome', port), 'mqtt:\n  broker: board.lan\n  port: 1884');
  assert.equal(textOf('Tasmota', port), 'Backlog MqttHost board.lan; MqttPort 1884; TelePeriod 60');
  assert.equal(textOf('Zigbee2MQTT', port), 'mqtt:\n  server: mqtt://board.lan:1884');
  assert.match(textOf('HTTP', port), /'https:\/\/board\.lan:8080\/v1\/readings\?device=desk&metric=temp/);
  const { ways, notes } = waysTo({ ...PAGE, addresses: [LOCAL] });
  assert.deepEqual(
    ways.filter(({ route }) => route !== null).map(({ route }) => route),
    [{ preset: 'esphome' }, { preset: 'tasmota' }, { preset: 'zigbee2mqtt' }],
  );
  assert.equal(notes.length, 1, 'others cannot reach the address');
  const ipv6 = { ...PAGE, host: '[::1]', addresses: [LOCAL] };
  assert.match(textOf('Zigbee2MQTT', ipv6), /mqtt:\/\/\[::1\]:1883$/);
  assert.match(textOf('ESPHome', ipv6), /broker: '::1'/);
});

test('each way has the login and the authority that MQTT needs, and an address that others reach is preferred', () => {
  const tls = { port: 8883, tls: true, local: false, login: 'own' };
  const { ways, notes } = waysTo({ ...PAGE, addresses: [LOCAL, tls], isKeyNeeded: true });
  for (const { name, text } of ways) {
    assert.match(text, name === 'HTTP' ? /Bearer KEY/ : /PASSWORD/, name);
    if (name !== 'HTTP') assert.match(text, /8883/, name);
  }
  assert.match(ways[0]!.text, /--cafile ca\.pem -u USER -P PASSWORD -q 1 -t sensors\/USER\/temperature/);
  assert.equal(notes.length, 2);
});

test('without an address of MQTT there is HTTP', () => {
  const { ways, notes } = waysTo({ ...PAGE, addresses: [] });
  assert.deepEqual([ways.map(({ name }) => name), notes], [['HTTP'], []]);
});
