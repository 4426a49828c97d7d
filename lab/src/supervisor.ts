import { fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { mirrorServerOutput } from '@tidegauge/process';
import { reportError } from '@tidegauge/service/program';
import { MARK, type Note, writeNote } from './background.ts';
import { CATALOGUE, type StartFlags } from './catalogue.ts';
import { identify } from './processes.ts';

// cli.ts starts this process detached. It runs one server, because a server ends with the process that started it.

const LOG_BYTES = 4 * 2 ** 20;
const KEPT_BYTES = 2 ** 20;

/** The only message to cli.ts: the result of the start. */
export type Report = { readonly ready: true } | { readonly ready: false; readonly why: string };

const folder = process.env[MARK]!;
const [server, flags] = process.argv.slice(2) as [string, string];
const note: Note = { server, phase: 'starting', supervisor: identify(process.pid)!, connect: {} };
writeNote(folder, note);
mirrorServerOutput(appendToLog);

// The process must not end when its terminal is closed.
process.on('SIGHUP', () => {});
const stopRequested = Promise.withResolvers<void>();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => stopRequested.resolve());
}
// Nothing else may keep the process alive while it waits.
const alive = setInterval(() => {}, 2 ** 30);

try {
  const start = CATALOGUE[server]!.start(JSON.parse(flags) as StartFlags);
  // A signal during the start: exiting kills all processes that have been started so far.
  const started = await Promise.race([start, stopRequested.promise.then(() => null)]);
  if (started === null) process.exit(1);
  writeNote(folder, { ...note, phase: 'ready', connect: started.connect });
  report({ ready: true });
  await stopRequested.promise;
  await started.stop();
} catch (error) {
  const why = reportError(error).text;
  process.stderr.write(`${why}\n`);
  report({ ready: false, why });
  process.exitCode = 1;
}
clearInterval(alive);

function report(message: Report): void {
  if (!process.connected) return;
  // Errors are ignored, because the caller may have ended. The note contains the same data.
  process.send?.(message, undefined, undefined, () => {
    if (process.connected) process.disconnect();
  });
}

/** Appends to the log, which is standard output. If the log grows too large, only its last part is kept. */
function appendToLog(text: string): void {
  writeSync(1, text);
  const { size } = fstatSync(1);
  if (size <= LOG_BYTES) return;
  const kept = Buffer.alloc(KEPT_BYTES);
  const log = openSync('/proc/self/fd/1', 'r');
  const length = readSync(log, kept, 0, KEPT_BYTES, size - KEPT_BYTES);
  ftruncateSync(1);
  writeSync(1, kept.subarray(0, length));
}
