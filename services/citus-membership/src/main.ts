import { defineService, run } from '@tidegauge/service';
import { startCitusMembership } from './service.ts';
import { settings } from './settings.ts';

export const program = defineService({
  name: 'tidegauge citus-membership',
  summary:
    'Keeps the workers of a Citus coordinator equal to the addresses in DNS. It removes no worker that has data, ' +
    'follows changed addresses without data loss, and moves shards only on request.',
  settings,
  stopSeconds: () => 20,
  start: (config) => startCitusMembership(config),
});

if (import.meta.main) process.exitCode = await run(program);
