import { run } from '@tidegauge/service';
import { startIngest } from './service.ts';
import { settings } from './settings.ts';

process.exitCode = await run({
  usage: 'tidegauge ingest: stores what sensors publish over MQTT, and acknowledges what is stored.',
  schema: settings,
  stopSeconds: (config) => config.stopTimeout,
  start: startIngest,
});
