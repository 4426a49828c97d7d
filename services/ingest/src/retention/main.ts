import { setTimeout as sleep } from 'node:timers/promises';
import { openExisting } from '@tidegauge/copy';
import { now } from '@tidegauge/readings';
import { createLogger, SERVICE_SETTINGS } from '@tidegauge/service';
import { boolean, ConfigError, defineCommand, defineConfig, EXIT, run } from '@tidegauge/service/program';
import { counted } from '@tidegauge/text';
import { settings as ingest } from '../settings.ts';
import { checkLimits, checkRollups, exceeded } from './limits.ts';
import { preview, printPreview } from './preview.ts';
import { Retention } from './retention.ts';
import { loadRules, RetentionRules } from './rules.ts';
import { RETENTION_SETTINGS } from './settings.ts';

const { retentionEvery: _, ...rules } = RETENTION_SETTINGS;

const settings = defineConfig({
  store: ingest.store,
  ...rules,
  dryRun: {
    kind: boolean(),
    default: 'false',
    help: 'Print what each rule would delete, and delete nothing.',
  },
  json: { kind: boolean(), default: 'false', help: 'Print JSON.' },
  logLevel: { ...SERVICE_SETTINGS.logLevel, default: 'warn' },
});

export const program = defineCommand({
  name: 'tidegauge retention',
  summary: 'Deletes readings that the rules of retention do not keep, or prints what they would delete.',
  details:
    'Ingest does the same by itself, with the same settings. This program applies rules once, also while ingest runs.',
  examples: [
    'tidegauge retention --store sqlite:./data/tidegauge.db --retention raw:30d --dry-run',
    'tidegauge retention --store postgres://gauge@db/tidegauge --retention-rules retention.yml',
  ],
  configuredBy: 'environment',
  settings,
  async run(config, signal) {
    const file = config.retentionRules;
    const all = new RetentionRules(file === null ? [] : loadRules(file), config.retention);
    const limits = { maxBytes: config.retentionMaxBytes, minFreeBytes: config.retentionMinFree };
    if (file === null && config.retention === null && limits.maxBytes === 0 && limits.minFreeBytes === 0) {
      throw new ConfigError(['no rule is given: set --retention, --retention-rules or a limit of space']);
    }
    const store = await openExisting(config.store);
    try {
      await checkLimits(store, limits);
      checkRollups(store, all);
      if (config.dryRun) {
        const { rules: found } = await preview(store, all, now());
        const limit = await exceeded(store, limits);
        process.stdout.write(
          config.json ? `${JSON.stringify({ rules: found, exceeded: limit })}\n` : printPreview(found),
        );
        if (limit !== null && !config.json)
          process.stdout.write(
            `the limit of ${limit} is exceeded: the oldest readings would be deleted too\n`,
          );
        return EXIT.OK;
      }
      const retention = new Retention({
        store,
        rules: () => all,
        limits,
        holder: `tidegauge retention ${process.pid}`,
        everyMs: 0,
        waitsForRollups: false,
        logger: createLogger('retention', config.logLevel),
      });
      signal.addEventListener('abort', () => void retention.stop());
      // The rests of a run alone do not keep the process alive.
      const awake = new AbortController();
      void sleep(2 ** 31 - 1, null, { signal: awake.signal }).catch(() => {});
      const last = await retention.run().finally(() => awake.abort());
      const text = {
        done: `deleted ${last.deleted === null ? 'an unknown number of readings' : counted(last.deleted, 'reading')} in ${last.seconds.toFixed(1)} s`,
        elsewhere: 'another process deletes readings now: nothing was done',
        failed: 'it failed: the log has the reason. The next run continues',
      }[last.result];
      process.stdout.write(config.json ? `${JSON.stringify(last)}\n` : `${text}\n`);
      return last.result === 'failed' ? EXIT.FAILED : EXIT.OK;
    } finally {
      await store.close();
    }
  },
});

if (import.meta.main) process.exitCode = await run(program);
