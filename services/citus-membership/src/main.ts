import { run } from '@tidegauge/service';
import { startCitusMembership } from './service.ts';
import { settings } from './settings.ts';

process.exitCode = await run({
  usage:
    'tidegauge citus-membership: keeps the workers that a Citus coordinator knows as DNS has them; forgets none,\nloses nothing when their addresses change, and moves shards only when asked to.',
  schema: settings,
  stopSeconds: () => 20,
  start: (config) => startCitusMembership(config),
});
