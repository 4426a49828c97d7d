import { defineService, run } from '@tidegauge/service';
import { settings } from './settings.ts';
import { startPipeline } from './start-pipeline.ts';

const STOP_SECONDS = 30;

export const program = defineService({
  name: 'tidegauge start',
  summary: 'Runs the whole pipeline: ingest for MQTT, store, HTTP API, live page and simulated sensors.',
  details:
    'Ingest, API and simulator read their other settings from the environment: ROUTES=routes.yaml tidegauge start',
  examples: [
    'tidegauge start --no-sim --http-port 9000',
    'tidegauge start --store postgres://user:password@127.0.0.1/tidegauge',
  ],
  settings,
  stopSeconds: () => STOP_SECONDS,
  start: startPipeline,
});

if (import.meta.main) process.exitCode = await run(program);
