import { run } from '@tidegauge/service';
import { startBrokerMetrics } from './service.ts';
import { settings } from './settings.ts';

process.exitCode = await run({
  usage:
    "tidegauge broker-metrics: shows Prometheus what the broker says of itself under $SYS (mosquitto's).",
  schema: settings,
  stopSeconds: () => 10,
  start: (config) => startBrokerMetrics(config),
});
