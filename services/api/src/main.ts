import { run } from '@tidegauge/service';
import { API_SCHEMA } from './config.ts';
import { startApi } from './service.ts';

process.exitCode = await run({
  usage: 'npm run api -- [flags]\n\nThe HTTP API and the live page of Tidegauge.',
  schema: API_SCHEMA,
  stopSeconds: () => 10,
  start: (config) => startApi(config),
});
