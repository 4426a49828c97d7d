import { readFileSync } from 'node:fs';
import { LOG_LEVELS } from './logger.ts';
import { ConfigError } from './program/config-error.ts';
import { oneOf, text, url } from './program/kinds.ts';
import { defineConfig } from './program/settings.ts';
import { whyFailed } from './program/why-failed.ts';

/** Settings that every service has. */
export const SERVICE_SETTINGS = defineConfig({
  httpListen: {
    kind: text('an address'),
    default: '127.0.0.1',
    help: 'The address to listen on for HTTP. Default: loopback only.',
  },
  boardName: {
    kind: text('a name'),
    help: 'The name of this board in metrics, so that dashboards show it instead of an address. Default: the host name.',
  },
  logLevel: { kind: oneOf(LOG_LEVELS), default: 'info', help: 'The lowest severity that is logged.' },
});

/** How a service connects to the MQTT broker. */
export const BROKER_SETTINGS = defineConfig({
  broker: {
    kind: url('mqtt', 'mqtts', 'ws', 'wss'),
    default: 'mqtt://127.0.0.1:1883',
    secret: 'url',
    help: 'The MQTT broker. User name and password have their own variables.',
  },
  brokerUser: { kind: text(), help: 'The user name for the broker.' },
  brokerPassword: { kind: text(), secret: true, help: 'The password for the broker.' },
  brokerCa: {
    kind: text('a file name'),
    help: "PEM file of the certificate authority that signed the broker's certificate, for mqtts and wss.",
  },
});

/**
 * Reads a file that a setting names.
 *
 * @param variable the setting's environment variable, for the message
 * @throws {ConfigError} when the file cannot be read
 */
export function readSettingFile(variable: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new ConfigError([`${variable} names ${file}, which cannot be read: ${whyFailed(error)}`]);
  }
}
