import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '@tidegauge/service';
import { mqttAddresses } from '../../src/mqtt-addresses.ts';
import { settings } from '../../src/settings.ts';

const addressesOf = (env: Readonly<Record<string, string>>) => mqttAddresses(loadConfig(settings, [], env));

test('the addresses of ingest have their port and the login that a sensor needs', () => {
  const LISTEN = 'mqtt://127.0.0.1:1884,mqtts://[::]';
  const login = (env: Readonly<Record<string, string>>) =>
    addressesOf({ LISTEN, ...env }).map(({ login }) => login);
  assert.deepEqual(addressesOf({ LISTEN }), [
    { port: 1884, tls: false, local: true, login: 'none' },
    { port: 8883, tls: true, local: false, login: 'none' },
  ]);
  assert.deepEqual(login({ LISTEN_USER: 'u', LISTEN_PASSWORD: 'p', LISTEN_PASSWORDS: 'f' }), ['one', 'one']);
  assert.deepEqual(login({ LISTEN_PASSWORDS: 'f' }), ['own', 'own']);
  assert.deepEqual(login({ LISTEN_CA: 'f' }), ['own', 'own']);
  assert.deepEqual(login({ LISTEN_PASSWORDS: 'f', LISTEN_ANONYMOUS: 'true' }), ['none', 'none']);
});

test('without LISTEN it is the broker, with the login that ingest has there', () => {
  assert.deepEqual(addressesOf({}), [{ port: 1883, tls: false, local: false, login: 'none' }]);
  assert.deepEqual(addressesOf({ BROKER: 'mqtts://broker', BROKER_USER: 'ingest', BROKER_PASSWORD: 'p' }), [
    { port: 8883, tls: true, local: false, login: 'one' },
  ]);
  assert.deepEqual(addressesOf({ BROKER: 'wss://broker' }), []);
});
