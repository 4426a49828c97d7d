import { defineService, run } from '@tidegauge/service';
import { API_SCHEMA, GONE } from './config.ts';
import { startApi } from './service.ts';

export const program = defineService({
  name: 'tidegauge api',
  summary: 'Serves the HTTP API and the live page.',
  settings: API_SCHEMA,
  gone: GONE,
  stopSeconds: () => 10,
  start: (config) => startApi(config),
});

if (import.meta.main) process.exitCode = await run(program);
