import { number, READABLE, duration as shownDuration } from '@tidegauge/copy';
import {
  boolean,
  ConfigError,
  defineCommand,
  defineConfig,
  duration,
  EXIT,
  oneOf,
  port,
  reportError,
  run,
  SERVICE_SETTINGS,
  text,
  url,
} from '@tidegauge/service';
import { type BackupOptions, type BackupResult, backUp, lastBackup } from './back-up.ts';
import { type DrillResult, drillNewest, lastVerified } from './drill.ts';
import { keepRule } from './keep.ts';
import { BackupRequest, schedule as runSchedule, type ScheduleState } from './schedule.ts';
import { serve } from './serve.ts';

const settings = defineConfig({
  store: { kind: url(...READABLE), required: true, secret: 'url', help: 'The store to read.' },
  to: { kind: text('a directory'), required: true, help: 'The directory of the backups. It is created.' },
  keep: {
    kind: keepRule,
    help: 'Keeps the newest backup of each of the last days, weeks and months only. Default: keeps all.',
  },
  every: {
    kind: duration(1, 31 * 86_400),
    help: 'Runs on, and makes a backup when the last one is so old. Default: one backup.',
  },
  drill: {
    kind: duration(1, 366 * 86_400),
    help: 'With --every: restores the new backup to a temporary SQLite file in TMPDIR and compares it, when the last verified restore is so old. Default: never.',
  },
  format: {
    kind: oneOf(['auto', 'portable']),
    default: 'auto',
    help: 'portable: lines of JSON. auto: the same, and the database file for SQLite.',
  },
  metricsPort: {
    kind: port(),
    help: 'With --every: the port of health, readiness, metrics, and requests of the API. Default: none.',
  },
  httpToken: {
    kind: text(),
    secret: true,
    help: 'Bearer token for requests for a backup. Without it they are accepted on loopback only.',
  },
  httpListen: { kind: text('an address'), default: '127.0.0.1', help: 'The address of that port.' },
  boardName: SERVICE_SETTINGS.boardName,
  json: { kind: boolean(), default: 'false', help: 'Prints the result as JSON.' },
});

export const program = defineCommand({
  name: 'tidegauge backup',
  summary: 'Makes a backup of a store while it is in use: readings, units and registered devices.',
  details:
    'A backup is a folder with a manifest of numbers and digests. It gets its name when it is complete, so an interrupted\n' +
    'backup never looks like one. tidegauge restore writes it to an empty store of any kind.',
  examples: [
    'tidegauge backup --store sqlite:./data/tidegauge.db --to /mnt/usb/backups',
    'tidegauge backup --store postgres://tidegauge@db/tidegauge --to /backups --every 1d --keep 7d,4w,12m',
  ],
  configuredBy: 'environment',
  settings,
  async run({ every, drill, json, httpListen, httpToken, metricsPort, boardName, ...options }, signal) {
    if (every !== null)
      return repeat(options, { every, drill, json, httpListen, httpToken, metricsPort, boardName }, signal);
    // METRICS_PORT can be set for all programs of a machine.
    if (drill !== null) throw new ConfigError(['--drill needs --every: a single backup does not use it']);
    print(await backUp(options, signal), json);
    return EXIT.OK;
  },
});

interface Schedule {
  readonly every: number;
  /** The most seconds between two verified restores. Null: no limit. */
  readonly drill: number | null;
  readonly json: boolean;
  readonly httpListen: string;
  readonly httpToken: string | null;
  readonly boardName: string | null;
  readonly metricsPort: number | null;
}

/** A failure is printed, and does not end the program. */
async function repeat(options: BackupOptions, schedule: Schedule, signal: AbortSignal): Promise<number> {
  const { every, drill, json, httpListen, httpToken, metricsPort, boardName } = schedule;
  const everyMs = every * 1000;
  const state: ScheduleState = {
    last: null,
    verified: null,
    failures: 0,
    isFailing: false,
    isRunning: false,
  };
  const request = new BackupRequest();
  let result: BackupResult | null = null;
  const http =
    metricsPort === null
      ? null
      : await serve({
          host: httpListen,
          port: metricsPort,
          token: httpToken,
          board: boardName,
          to: options.to,
          everyMs,
          state,
          request,
          result: () => result,
        });
  try {
    await runSchedule(state, {
      everyMs,
      signal,
      request,
      async last() {
        const last = await lastBackup(options.to);
        const verified = await lastVerified(options.to);
        // A backup can be deleted after its restore was verified.
        if (verified !== null) state.verified = Math.max(verified, state.verified ?? 0);
        return last;
      },
      async run() {
        result = await backUp(options, signal);
        print(result, json);
        if (drill === null || Date.now() - (state.verified ?? 0) < drill * 1000) return;
        printDrill(await drillNewest(options.to, signal), json);
      },
      fail: (error) => process.stderr.write(`${reportError(error).text}\n`),
    });
    return EXIT.OK;
  } finally {
    await http?.close();
  }
}

function print({ path, manifest, seconds, deleted }: BackupResult, json: boolean): void {
  const { method, readings, units, devices, files } = manifest;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (json) {
    process.stdout.write(
      `${JSON.stringify({ path, method, readings, units, devices, bytes, seconds, deleted })}\n`,
    );
    return;
  }
  const lines = [
    `${path}: ${number(readings.count)} readings, ${number(units.count)} units, ${number(devices.count)} registered devices, ` +
      `${number(Math.ceil(bytes / 1024))} KiB in ${shownDuration(seconds)}`,
    ...deleted.map((name) => `deleted ${name}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function printDrill({ path, readings, seconds }: DrillResult, json: boolean): void {
  process.stdout.write(
    json
      ? `${JSON.stringify({ verified: path, readings, seconds })}\n`
      : `${path}: ${number(readings)} readings restored and verified in ${shownDuration(seconds)}\n`,
  );
}

if (import.meta.main) process.exitCode = await run(program);
