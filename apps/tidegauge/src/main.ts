import { defineService, run } from '@tidegauge/service';
import { settings } from './settings.ts';
import { startPipeline } from './start-pipeline.ts';

const STOP_SECONDS = 30;

export const program = defineService({
  name: 'npm start',
  summary: 'Runs the whole pipeline: ingest for MQTT, store, HTTP API, live page and simulated sensors.',
  details:
    'Ingest, API and simulator read their other settings from the environment: ROUTES=routes.yaml npm start',
  examples: [
    'npm start -- --no-sim --http-port 9000',
    'npm start -- --store postgres://user:password@127.0.0.1/tidegauge',
  ],
  settings,
  stopSeconds: () => STOP_SECONDS,
  start: startPipeline,
});

if (import.meta.main) {
  // Ingest and the simulator have other names for the same settings.
  const { DATA_DIR, SIM_SENSORS } = process.env;
  if (DATA_DIR) process.env.DATA ??= DATA_DIR;
  if (SIM_SENSORS) process.env.SENSORS ??= SIM_SENSORS;
  process.exitCode = await run(program);
}
