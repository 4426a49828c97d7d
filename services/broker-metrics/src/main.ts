import { defineService, run } from '@tidegauge/service';
import { startBrokerMetrics } from './service.ts';
import { settings } from './settings.ts';

export const program = defineService({
  name: 'tidegauge broker-metrics',
  summary: 'Reads the statistics that mosquitto publishes under $SYS and serves them as Prometheus metrics.',
  details: 'The user at the broker must be allowed to read $SYS/#.',
  settings,
  stopSeconds: () => 10,
  start: (config) => startBrokerMetrics(config),
});

if (import.meta.main) process.exitCode = await run(program);
