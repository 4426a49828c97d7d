import { defineConfig, LOG_LEVELS, oneOf, port, text, url } from '@tidegauge/service';

/** Everything the broker's exporter can be told, with its defaults. */
export const settings = defineConfig({
  broker: {
    kind: url('mqtt', 'mqtts', 'ws', 'wss'),
    default: 'mqtt://127.0.0.1:1883',
    secret: 'url',
    help: 'The broker to watch; user and password have variables of their own.',
  },
  brokerUser: { kind: text(), help: 'User name for the broker; it must be allowed to read $SYS/#.' },
  brokerPassword: { kind: text(), secret: true, help: 'Password for the broker.' },
  brokerCa: {
    kind: text('a file name'),
    help: 'PEM file of the certificate authority that signed the broker, for mqtts and wss.',
  },
  httpListen: { kind: text('an address'), default: '127.0.0.1', help: 'Address of the HTTP port.' },
  metricsPort: { kind: port(), default: '9465', help: 'HTTP port: metrics and health. It changes nothing.' },
  logLevel: { kind: oneOf(LOG_LEVELS), default: 'info', help: 'Least severity that is logged.' },
});
