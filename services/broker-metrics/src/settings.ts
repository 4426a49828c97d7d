import { BROKER_SETTINGS, defineConfig, port, SERVICE_SETTINGS } from '@tidegauge/service';

/** Every setting of broker-metrics. */
export const settings = defineConfig({
  ...BROKER_SETTINGS,
  metricsPort: { kind: port(), default: '9465', help: 'HTTP port for metrics and health. It is read-only.' },
  ...SERVICE_SETTINGS,
});
