import { defineService, run } from '@tidegauge/service';
import { startIngest } from './service.ts';
import { GONE, settings } from './settings.ts';

export const program = defineService({
  name: 'tidegauge ingest',
  summary:
    'Stores the readings that sensors publish over MQTT, and acknowledges each message when it is stored.',
  settings,
  gone: GONE,
  stopSeconds: (config) => config.stopTimeout,
  start: startIngest,
});

if (import.meta.main) process.exitCode = await run(program);
