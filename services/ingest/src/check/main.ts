import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { demandExisting } from '@tidegauge/copy';
import { boolean, ConfigError, defineCommand, defineConfig, EXIT, run } from '@tidegauge/service/program';
import { checkStore, type Damage } from '@tidegauge/storage';
import { counted, maskUrl } from '@tidegauge/text';
import { settings as ingest } from '../settings.ts';
import { checkFiles } from './check-files.ts';

/** Work without a pause. */
const TURN_MS = 20;
/** The pause after it, as a multiple: two thirds of the time are left to others. */
const PAUSE_FACTOR = 2;

const settings = defineConfig({
  store: ingest.store,
  dataDir: ingest.dataDir,
  spoolDir: ingest.spoolDir,
  json: { kind: boolean(), default: 'false', help: 'Prints the result as JSON.' },
});

export const program = defineCommand({
  name: 'tidegauge check',
  summary: 'Checks all files of ingest and of its store for damage of the disk, also while they are in use.',
  details:
    'It reads the store (SQLite or JSON files), spool, log of the relay, ledger, clocks and quarantine, with pauses, and changes\n' +
    'nothing. It prints each damaged part with what to do. It ends with 1 when there is one. A changed value in a row of SQLite\n' +
    'is not found: docs/durability.md. A database server has its own checks, and tidegauge backup --drill checks backups.',
  examples: ['tidegauge check --store sqlite:./data/tidegauge.db --data-dir ./data'],
  configuredBy: 'environment',
  settings,
  async run({ store, dataDir, spoolDir, json }, signal) {
    const files: string[] = [];
    const damages: Damage[] = [];
    for await (const damage of checkAll({ store, dataDir, spoolDir, signal }, files)) {
      damages.push(damage);
      if (!json) process.stdout.write(`${textOf(damage)}\n`);
    }
    const isChecked = files.includes(maskUrl(store));
    if (!isChecked && !json) process.stdout.write(`${maskUrl(store)} is not checked: it has no files here\n`);
    process.stdout.write(
      json
        ? `${JSON.stringify({ checked: files, damages })}\n`
        : `${damages.length === 0 ? 'no damage found' : counted(damages.length, 'damaged part')} in ${files.join(', ')}\n`,
    );
    return damages.length === 0 ? EXIT.OK : EXIT.FAILED;
  },
});

interface CheckOptions {
  readonly store: string;
  readonly dataDir: string;
  readonly spoolDir: string | null;
  readonly signal: AbortSignal;
}

/** @param checked gets the names of files and of the store */
async function* checkAll(
  { store, dataDir, spoolDir, signal }: CheckOptions,
  checked: string[],
): AsyncGenerator<Damage> {
  const pace = pauses(signal);
  const found = await checkStore(store, pace);
  if (found !== null) {
    demandExisting(store);
    checked.push(maskUrl(store));
    yield* found;
  }
  for (const directory of [dataDir, spoolDir]) {
    if (directory === null) continue;
    if (!existsSync(directory)) throw new ConfigError([`${directory} does not exist: check DATA_DIR`]);
    yield* checkFiles(directory, pace, (file) => checked.push(file));
  }
}

/** A pace that works for `TURN_MS` at a time. */
export function pauses(signal: AbortSignal): () => Promise<void> {
  let begun = performance.now();
  return async () => {
    const worked = performance.now() - begun;
    if (worked < TURN_MS) return;
    await delay(PAUSE_FACTOR * worked, undefined, { signal });
    begun = performance.now();
  };
}

export function textOf({ file, unit, what, fix }: Damage): string {
  return `${file}: ${unit}: ${what} -> ${fix}`;
}

if (import.meta.main) process.exitCode = await run(program);
