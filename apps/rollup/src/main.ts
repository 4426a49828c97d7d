import { ConfigError, defineCommand, EXIT, run } from '@tidegauge/service/program';
import { createStore } from '@tidegauge/storage';
import { rollUp } from './roll-up.ts';
import { settings } from './settings.ts';

export const program = defineCommand({
  name: 'tidegauge rollup',
  summary:
    'Computes the totals of each day and metric, from which Cassandra and HBase answer groups of readings.',
  details:
    'With --from it works day by day and prints a line for each day. Without --from it reads all readings once, which is\n' +
    'faster for the whole store. It can be stopped and run again at any time, also beside ingest. Run it, for example,\n' +
    'every hour for the last two days. Other stores compute groups from readings, so there is nothing to do.',
  examples: [
    'tidegauge rollup --store cassandra://node1/tidegauge',
    'tidegauge rollup --store hbase://zookeeper1/tidegauge --from 2026-11-01 --to 2026-11-23',
  ],
  configuredBy: 'environment',
  settings,
  async run({ store: url, from, to }, signal) {
    if (from !== null && to !== null && from > to)
      throw new ConfigError(['--from is after --to: write the earlier day first']);
    const print = (line: string) => process.stdout.write(`${line}\n`);
    const store = await createStore(url);
    if (!store.capabilities.groupTables) {
      print(`${store.name} computes groups from readings: there is nothing to roll up`);
      return EXIT.OK;
    }
    try {
      await store.open();
      await store.migrate();
      const isDone = await rollUp(store, { from, to }, signal, print);
      return isDone ? EXIT.OK : EXIT.FAILED;
    } finally {
      await store.close();
    }
  },
});

if (import.meta.main) process.exitCode = await run(program);
