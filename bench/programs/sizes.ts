import { textTable } from '@tidegauge/loadtests/results/table';
import { say } from '@tidegauge/loadtests/say';
import { defineConfig, list, oneOf, run } from '@tidegauge/service/program';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';
import { DATA_SETS } from '../src/sizes/data-sets.ts';
import { PLACES, type Place, type Sink, type Size } from '../src/sizes/places.ts';
import { SeriesDigests } from '../src/sizes/series-digests.ts';

const { quick, json } = BENCH_SETTINGS;
const QUICK_STORES = ['sqlite', 'parquet'];
const settings = defineConfig({
  data: {
    kind: list(oneOf(Object.keys(DATA_SETS))),
    default: Object.keys(DATA_SETS).join(','),
    help: 'The data sets, one after the other.',
  },
  stores: {
    kind: list(oneOf(Object.keys(PLACES))),
    help: `The stores. Default: all, with --quick ${QUICK_STORES.join(' and ')}.`,
  },
  quick,
  json,
});

interface Result {
  readonly data: string;
  readonly readings: number;
  /** Readings that a later one of their series and time replaced before. */
  readonly replaced: number;
  readonly digest: string;
  readonly sizes: Readonly<Record<string, Size>>;
}

export const program = defineBench({
  name: 'sizes',
  summary: 'Bytes on disk per reading in SQLite, InfluxDB, PostgreSQL, Cassandra and Parquet.',
  details:
    'Each store gets the same readings of a data set in the order of time, brings them into their final form, and returns them\n' +
    'again: the digests must be equal. Three data sets are real, and the others are sensors of the simulator.',
  settings,
  check({ stores, quick }) {
    return stores ?? (quick ? QUICK_STORES : Object.keys(PLACES));
  },
  async run({ data, quick }, stores, context) {
    const places = new Map<string, Place>();
    for (const name of stores) {
      const place = await PLACES[name]!();
      context.closers.add(() => place.stop());
      places.set(name, place);
    }
    const results: Result[] = [];
    for (const name of data) results.push(await measure(name, quick, places, context));
    process.stdout.write(tableOf(results, stores));
    return { quick, results };
  },
});

async function measure(
  data: string,
  quick: boolean,
  places: ReadonlyMap<string, Place>,
  { signal }: BenchContext,
): Promise<Result> {
  const sinks = new Map<string, Sink>();
  for (const [name, place] of places) sinks.set(name, await place.create(data));
  const source = new SeriesDigests();
  const tally = { replaced: 0 };
  for await (const batch of DATA_SETS[data]!.readings(quick, tally)) {
    signal.throwIfAborted();
    source.add(batch);
    await Promise.all([...sinks.values()].map((sink) => sink.write(batch)));
  }
  const { readings, digest } = source.sum();
  say(`${data}: ${readings} readings are written, ${tally.replaced} replaced`);
  const sizes: Record<string, Size> = {};
  for (const [name, sink] of sinks) {
    sizes[name] = await sink.measure();
    const stored = new SeriesDigests();
    for await (const batch of sink.read()) {
      signal.throwIfAborted();
      stored.add(batch);
    }
    const found = stored.sum();
    if (found.digest !== digest)
      throw new Error(
        `${name} returns ${found.readings} of ${readings} readings of ${data}, or other values`,
      );
    await sink.close();
    say(`${data}, ${name}: ${(sizes[name].bytes / readings).toFixed(2)} bytes per reading, digest equal`);
  }
  return { data, readings, ...tally, digest, sizes };
}

function tableOf(results: readonly Result[], stores: readonly string[]): string {
  const hasSqlite = stores.includes('sqlite');
  const more = hasSqlite ? ['SQLite rows', 'SQLite blocks'] : [];
  return textTable([
    ['data', 'readings', ...stores, ...more],
    ...results.map(({ data, readings, sizes }) => {
      const { sqlite } = sizes.sqlite ?? {};
      const further =
        sqlite === undefined
          ? []
          : [sqlite.rowBytes / readings, sqlite.blockBytes / Math.max(1, sqlite.blockReadings)];
      const figures = [...stores.map((name) => sizes[name]!.bytes / readings), ...further];
      return [data, String(readings), ...figures.map((bytes) => bytes.toFixed(2))];
    }),
  ]);
}

if (import.meta.main) process.exitCode = await run(program);
