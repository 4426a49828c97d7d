import { readFileSync } from 'node:fs';
import { LOG_LEVELS } from './logger.ts';
import { ConfigError } from './program/config-error.ts';
import { oneOf, text, url } from './program/kinds.ts';
import { defineConfig, inGroup } from './program/settings.ts';
import { whyFailed } from './program/why-failed.ts';

/** Settings that every service has. */
export const SERVICE_SETTINGS = inGroup('Every service', {
  httpListen: {
    kind: text('an address'),
    default: '127.0.0.1',
    help: 'Address to listen on for HTTP.',
  },
  boardName: {
    kind: text('a name'),
    help: 'Name of this board in dashboards. Default: the host name.',
  },
  logLevel: { kind: oneOf(LOG_LEVELS), default: 'info', help: 'Lowest severity that is logged.' },
});

/** How a program logs in to the MQTT broker. */
export const BROKER_LOGIN_SETTINGS = inGroup('Broker login', {
  brokerUser: { kind: text(), help: 'User name for the broker.' },
  brokerPassword: { kind: text(), secret: true, help: 'Password for the broker.' },
  brokerCa: {
    kind: text('a file name'),
    help: "PEM file of the authority of the broker's certificate, for mqtts and wss.",
  },
});

/** How a service connects to the MQTT broker. */
export const BROKER_SETTINGS = defineConfig({
  broker: {
    kind: url('mqtt', 'mqtts', 'ws', 'wss'),
    default: 'mqtt://127.0.0.1:1883',
    secret: 'url',
    help: 'The MQTT broker, without user name and password.',
  },
  ...BROKER_LOGIN_SETTINGS,
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
