import { setTimeout as delay } from 'node:timers/promises';
import { number, READABLE, duration as shownDuration } from '@tidegauge/copy';
import {
  boolean,
  defineCommand,
  defineConfig,
  duration,
  EXIT,
  oneOf,
  reportError,
  run,
  text,
  url,
} from '@tidegauge/service';
import { type BackupOptions, type BackupResult, backUp, lastBackup } from './back-up.ts';
import { keepRule } from './keep.ts';

const settings = defineConfig({
  store: { kind: url(...READABLE), required: true, secret: 'url', help: 'The store to read.' },
  to: { kind: text('a directory'), required: true, help: 'The directory of the backups. It is created.' },
  keep: {
    kind: keepRule,
    help: 'Deletes other backups: keeps the newest of each of the last days, weeks and months. Default: keeps all.',
  },
  every: {
    kind: duration(1, 31 * 86_400),
    help: 'Runs until it is stopped, and makes a backup when the last one is so old. Default: one backup.',
  },
  format: {
    kind: oneOf(['auto', 'portable']),
    default: 'auto',
    help: 'portable: lines of JSON. auto: the same, and the database file for SQLite.',
  },
  json: { kind: boolean(), default: 'false', help: 'Prints the result as JSON.' },
});

export const program = defineCommand({
  name: 'npm run backup',
  summary: 'Makes a backup of a store while it is in use: readings, units and registered devices.',
  details:
    'A backup is a folder with a manifest of numbers and digests. It gets its name when it is complete, so an interrupted\n' +
    'backup never looks like one. npm run restore writes it to an empty store of any kind.',
  examples: [
    'npm run backup -- --store sqlite:./data/tidegauge.db --to /mnt/usb/backups',
    'npm run backup -- --store postgres://tidegauge@db/tidegauge --to /backups --every 1d --keep 7d,4w,12m',
  ],
  configuredBy: 'environment',
  settings,
  async run({ every, json, ...options }, signal) {
    if (every !== null) return repeat(options, every, json, signal);
    print(await backUp(options, signal), json);
    return EXIT.OK;
  },
});

const RETRY_SECONDS = 15 * 60;
/** The longest wait. A timer takes at most 24 days, and the clock of a board can be set. */
const NAP_MS = 60_000;

/** A failure is printed, and the next attempt is a quarter of an hour later at most. */
async function repeat(
  options: BackupOptions,
  every: number,
  json: boolean,
  signal: AbortSignal,
): Promise<number> {
  let retry = 0;
  while (!signal.aborted) {
    try {
      const last = await lastBackup(options.to);
      const due = Math.max(retry, last === null ? 0 : last + every * 1000);
      if (Date.now() < due) {
        await delay(Math.min(due - Date.now(), NAP_MS), undefined, { signal });
        continue;
      }
      print(await backUp(options, signal), json);
    } catch (error) {
      if (signal.aborted) break;
      process.stderr.write(`${reportError(error).text}\n`);
      retry = Date.now() + Math.min(every, RETRY_SECONDS) * 1000;
    }
  }
  return EXIT.OK;
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

if (import.meta.main) process.exitCode = await run(program);
