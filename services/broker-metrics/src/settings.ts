import { BROKER_SETTINGS, defineConfig, port, SERVICE_SETTINGS } from '@tidegauge/service';

/** Every setting of broker-metrics. */
export const settings = defineConfig({
  ...BROKER_SETTINGS,
  brokerUser: {
    ...BROKER_SETTINGS.brokerUser,
    help: 'The user name for the broker. The user must be allowed to read $SYS/#.',
  },
  httpListen: SERVICE_SETTINGS.httpListen,
  metricsPort: { kind: port(), default: '9465', help: 'HTTP port for metrics and health. It is read-only.' },
  boardName: SERVICE_SETTINGS.boardName,
  logLevel: SERVICE_SETTINGS.logLevel,
});
