import { duration, Progress, READABLE } from '@tidegauge/copy';
import {
  checkMapping,
  compileInfluxNames,
  INFLUX_DEVICE,
  INFLUX_METRIC,
  type MappingOptions,
  now,
  parseTime,
} from '@tidegauge/readings';
import {
  boolean,
  type CommandGroup,
  ConfigError,
  defineCommand,
  defineConfig,
  EXIT,
  inputFile,
  type Kind,
  oneOf,
  repeated,
  run,
  text,
  url,
} from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { YamlFile } from '@tidegauge/yaml-file';
import { importReadings } from './import-readings.ts';
import type { ImportSource } from './import-source.ts';
import { previewImport } from './preview.ts';
import { importDocument, importText, isComplete, previewDocument, previewText } from './report.ts';
import { csvFile } from './sources/csv.ts';
import { homeAssistantFile } from './sources/home-assistant.ts';
import { influxFile } from './sources/influxdb.ts';
import { parquetFile } from './sources/parquet.ts';
import { prometheusServer } from './sources/prometheus-remote.ts';
import {
  PROMETHEUS_DEVICE,
  PROMETHEUS_METRIC,
  prometheusFile,
  prometheusNames,
} from './sources/prometheus-text.ts';
import type { RowOptions } from './sources/rows.ts';

/** Opens a source. @param received no reading may be more than a day later */
type Open = (received: number) => ImportSource;

/** A time in UTC. Its value is microseconds since the epoch. */
const time: Kind<number> = {
  takes: 'a time in UTC such as 2026-11-23 or 2026-11-23T12:00:00Z',
  placeholder: 'TIME',
  parse(value) {
    const found = parseTime(/^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00:00Z` : value);
    if (found === null) throw new Error('it is no such time since 1970');
    return found;
  },
};

const target = defineConfig({
  to: { kind: url(...READABLE), secret: 'url', help: 'The store to write. It may be in use.' },
  dryRun: {
    kind: boolean(),
    default: 'false',
    help: 'Only reads the source, counts, and prints a sample. Needs no store.',
  },
  json: { kind: boolean(), default: 'false', help: 'Prints the result as JSON.' },
});
const files = {
  kind: repeated(inputFile()),
  positional: true,
  help: 'The files, also compressed with gzip.',
} as const;
const table = defineConfig({
  files: { ...files, required: true, help: 'The files.' },
  ...target,
  mapping: {
    kind: inputFile(),
    help: 'A YAML file with the keys of mapping in a routes file. Not for exports of Tidegauge.',
  },
  device: {
    kind: text('a device'),
    help: 'The device of all rows. In a mapping with a device it is {device}.',
  },
});

const homeAssistant = defineCommand({
  name: 'home-assistant',
  summary: "Imports the SQLite file of Home Assistant's recorder: states, statistics per hour, units, names.",
  examples: ['tidegauge import home-assistant home-assistant_v2.db --dry-run'],
  settings: {
    files: {
      ...files,
      required: true,
      help: 'The file, usually home-assistant_v2.db. Home Assistant may run.',
    },
    ...target,
  },
  run: (options, signal) => runImport(options, openFiles(options.files, homeAssistantFile), signal),
});

const influxdb = defineCommand({
  name: 'influxdb',
  summary: 'Imports line protocol, as influx_inspect export and influxd inspect export-lp write it.',
  examples: ['tidegauge import influxdb export.lp.gz --to sqlite:./data/tidegauge.db'],
  settings: {
    files: { ...files, required: true },
    ...target,
    database: { kind: text('a database or bucket'), help: 'Its name, if the file does not have it.' },
    device: { kind: text('a template'), default: INFLUX_DEVICE, help: 'The device of a line.' },
    metric: { kind: text('a template'), default: INFLUX_METRIC, help: 'The metric of a field.' },
    precision: {
      kind: oneOf(['ns', 'us', 'ms', 's']),
      default: 'ns',
      help: 'The unit of timestamps. Exports of InfluxDB have ns.',
    },
  },
  run(options, signal) {
    const { database, device, metric, precision } = options;
    const names = checked(() => compileInfluxNames(device, metric));
    const read = { database, precision, names, templates: [device, metric] };
    return runImport(
      options,
      openFiles(options.files, (path, received) => influxFile(path, read, received)),
      signal,
    );
  },
});

const csv = defineCommand({
  name: 'csv',
  summary: 'Imports CSV with a header: an export of Tidegauge, or any table with a mapping.',
  examples: ['tidegauge import csv weather.csv --device garden --mapping mapping.yaml --dry-run'],
  settings: table,
  run: (options, signal) => {
    const read = rowOptions(options);
    return runImport(
      options,
      openFiles(options.files, (path, received) => csvFile(path, read, received)),
      signal,
    );
  },
});

const parquet = defineCommand({
  name: 'parquet',
  summary: 'Imports Parquet: an export of Tidegauge, or any table with a mapping.',
  examples: ['tidegauge import parquet readings.parquet --to sqlite:./data/tidegauge.db'],
  settings: table,
  run: (options, signal) => {
    const read = rowOptions(options);
    return runImport(
      options,
      openFiles(options.files, (path, received) => parquetFile(path, read, received)),
      signal,
    );
  },
});

const prometheus = defineCommand({
  name: 'prometheus',
  summary: 'Imports samples with times from files of promtool tsdb dump, or from a running Prometheus.',
  examples: [
    'tidegauge import prometheus dump.txt --to sqlite:./data/tidegauge.db',
    'tidegauge import prometheus --url http://127.0.0.1:9090 --from 2026-11-01 --match node_.*',
  ],
  settings: {
    files,
    ...target,
    url: { kind: url('http', 'https'), secret: 'url', help: 'A Prometheus that is read by remote read.' },
    from: { kind: time, help: 'With --url: the first time.' },
    until: { kind: time, help: 'With --url: the end, exclusive. Default: the present.' },
    match: {
      kind: text('a regular expression'),
      default: '.+',
      help: 'With --url: the names of metrics.',
    },
    device: { kind: text('a template'), default: PROMETHEUS_DEVICE, help: 'The device of a series.' },
    metric: { kind: text('a template'), default: PROMETHEUS_METRIC, help: 'The metric of a series.' },
  },
  run(options, signal) {
    const { url: server, from, until, match, device, metric } = options;
    const names = checked(() => prometheusNames(device, metric));
    if ((server === null) === (options.files === null))
      throw new ConfigError(['name files, or a Prometheus with --url']);
    if (server === null) {
      const paths = options.files ?? [];
      return runImport(
        options,
        openFiles(paths, (path, received) => prometheusFile(path, names, received)),
        signal,
      );
    }
    if (from === null) throw new ConfigError(['--url needs --from, the first time to read']);
    if (from >= (until ?? now()))
      throw new ConfigError(['--from is not before the end: write the earlier time first']);
    return runImport(
      options,
      [(received) => prometheusServer(server, { ...names, from, until, match }, received)],
      signal,
    );
  },
});

export const program: CommandGroup = {
  name: 'tidegauge import',
  summary: 'Imports history from other programs into a store, also while ingest uses it.',
  details:
    'Each chunk is read again and compared by number and digest. An import that was stopped, also by a kill, ' +
    'continues with the same command. What is not stored is counted by reason, with examples. Another store of ' +
    'Tidegauge is copied with tidegauge copy.',
  examples: ['tidegauge import influxdb export.lp --dry-run'],
  commands: { 'home-assistant': homeAssistant, influxdb, csv, parquet, prometheus },
};

interface Options {
  readonly to: string | null;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** Imports sources one after the other. Resolves to the exit code. */
async function runImport(
  { to, dryRun, json }: Options,
  sources: readonly Open[],
  signal: AbortSignal,
): Promise<number> {
  if (dryRun) {
    for (const open of sources) {
      const found = await withProgress('read', signal, (progress) =>
        previewImport(open, { signal, progress }),
      );
      print(json ? `${JSON.stringify(previewDocument(found))}\n` : previewText(found));
    }
    return EXIT.OK;
  }
  if (to === null) throw new ConfigError(['--to is missing: name the store, or use --dry-run']);
  const store = await openStore(to);
  try {
    let areComplete = true;
    for (const open of sources) {
      const result = await withProgress('import', signal, (progress) =>
        importReadings(store, open, { signal, progress }),
      );
      print(json ? `${JSON.stringify(importDocument(result))}\n` : importText(result));
      areComplete &&= isComplete(result);
    }
    return areComplete ? EXIT.OK : EXIT.FAILED;
  } finally {
    await store.close();
  }
}

async function withProgress<T>(
  what: string,
  signal: AbortSignal,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = new Progress(process.stderr, what);
  try {
    const result = await work(progress);
    progress.line(`${what} ended after ${duration(progress.seconds)}`);
    return result;
  } catch (error) {
    if (signal.aborted) progress.line('stopped: run the same command again to continue');
    throw error;
  } finally {
    progress.stop();
  }
}

function print(output: string): void {
  process.stdout.write(output);
}

function openFiles(
  paths: readonly string[],
  open: (path: string, received: number) => ImportSource,
): readonly Open[] {
  return paths.map((path) => (received: number) => open(path, received));
}

/** @throws {ConfigError} when the mapping is not valid, with line and column */
function rowOptions({
  mapping,
  device,
}: {
  readonly mapping: string | null;
  readonly device: string | null;
}): RowOptions {
  if (mapping === null) return { mapping: {}, device };
  const file = YamlFile.read(mapping);
  const mistakes = checkMapping(file.data).filter(({ isWarning }) => isWarning !== true);
  if (mistakes.length > 0) throw file.error(mistakes);
  return { mapping: file.data as MappingOptions, device };
}

/** @throws {ConfigError} for the TypeError of a template that is not valid */
function checked<T>(compile: () => T): T {
  try {
    return compile();
  } catch (error) {
    throw new ConfigError([(error as Error).message]);
  }
}

if (import.meta.main) process.exitCode = await run(program);
