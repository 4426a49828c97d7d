import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type DirectoryLock, lockDirectory } from '@tidegauge/service';
import { ConfigError, whyFailed } from '@tidegauge/service/program';
import type { Environment, JournalEntry, LoadDocument, Plan, RunDocument } from '../model.ts';
import { PART, publish, readDocument, sha256OfFile, syncDirectory, writeDurably } from './durable-files.ts';
import { differences } from './environment.ts';
import { History } from './history.ts';
import { Journal, type NewEntry, readJournal } from './journal.ts';
import { runName } from './run-names.ts';

/** A plan of 100,000 runs has about 10 MB. */
const MOST_PLAN_BYTES = 64 * 2 ** 20;
/** The estimate of the disk is exceeded when runs are repeated. */
const SPARE_DISK = 1.2;
/** The name of the lock of a results directory, see `lockDirectory`. */
export const LOCK = 'study';
/** `status` has the lock for a moment. */
const LOCK_WAIT_MS = 500;
const LOCK_FILE = /^study\.lock(-journal|-wal|-shm)?$/;

export interface ResultsOptions {
  /** Text of the experiment file. The directory keeps a copy of it. */
  readonly source: string;
  /** Continues although the environment differs, and records what differs. */
  readonly force: boolean;
  /** Expected size of what remains to be written, in bytes. */
  readonly needBytes: number;
  readonly say: (line: string) => void;
}

/** A results directory that this process writes to. */
export interface Results {
  readonly directory: string;
  readonly plan: Plan;
  readonly entries: readonly JournalEntry[];
  readonly history: History;
  /** Adds to the journal. The entry is on disk when this returns. */
  append(entry: NewEntry): void;
  /** Where the operations of a run go until it is complete. The file does not exist. */
  csvPart(run: string): string;
  /** Archives a complete run: its operations, then its document, then the entry in the journal. */
  archiveRun(document: RunDocument): Promise<void>;
  /** @param attempt of the run that the table was loaded for */
  archiveLoad(document: LoadDocument, attempt: number): void;
  close(): void;
}

/**
 * Creates a results directory for a plan, or continues the one that is there. Until it is closed, no other process can
 * open it. Series that a crash has interrupted, and series whose files are missing or damaged, become void.
 *
 * @throws {ConfigError} when the directory is in use, has other files or results of another plan or environment, or
 *   when its disk has too little space. Nothing was changed.
 */
export async function openResults(
  directory: string,
  plan: Plan,
  environment: Environment,
  options: ResultsOptions,
): Promise<Results> {
  refuseOthers(directory, plan);
  refuseFullDisk(directory, options.needBytes);
  const lock = await lockDirectory(directory, LOCK, { waitMs: LOCK_WAIT_MS, setting: '--results' });
  try {
    return await open(directory, plan, environment, options, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function open(
  directory: string,
  plan: Plan,
  environment: Environment,
  { source, force, say }: ResultsOptions,
  lock: DirectoryLock,
): Promise<Results> {
  // Another process can have used the directory since it was checked.
  refuseOthers(directory, plan);
  const at = (...names: readonly string[]): string => join(directory, ...names);
  const isNew = !existsSync(at('plan.json'));
  const first = isNew ? undefined : firstEnvironment(at('journal.jsonl'));
  const differs = first === undefined ? [] : differences(first, environment);
  if (differs.length > 0 && !force) {
    throw new ConfigError([
      `${directory} has results of another environment: ${differs.join('; ')}: choose another directory with --results, or continue with --force`,
    ]);
  }
  for (const folder of ['runs', 'loads', 'report']) mkdirSync(at(folder), { recursive: true });
  removeParts([directory, at('runs'), at('loads')]);
  if (isNew) {
    writeDurably(at('study.yml'), source);
    keepPublished(plan, at('published'));
    // Last: a directory with a plan is ours.
    writeDurably(at('plan.json'), `${JSON.stringify(plan, null, 1)}\n`);
  }
  const journal = Journal.open(at('journal.jsonl'));
  try {
    const history = new History(journal.entries);
    const append = (entry: NewEntry): void => {
      journal.append(entry);
      history.add(journal.entries.at(-1)!);
    };
    append({ event: 'opened', plan: plan.hash, environment, differs });
    for (const line of differs) say(`continued with --force: ${line}`);
    await voidBroken(plan, history, directory, append, say);
    return {
      directory,
      plan,
      entries: journal.entries,
      history,
      append,
      csvPart(run) {
        const path = at('runs', `${run}.csv.gz${PART}`);
        rmSync(path, { force: true });
        return path;
      },
      async archiveRun(document) {
        const { run, series, seriesAttempt, trial, driver, attempt, valid, seconds } = document;
        const name = runName({ series, seriesAttempt, trial, driver, attempt });
        if (name !== run) throw new TypeError(`the document of the run ${run} has the fields of ${name}`);
        const part = at('runs', `${run}.csv.gz${PART}`);
        const csv = await sha256OfFile(part);
        if (csv !== document.csv.sha256) {
          throw new Error(`${part} has the SHA-256 ${csv}, and its run reports ${document.csv.sha256}`);
        }
        publish(part, at('runs', `${run}.csv.gz`));
        const path = at('runs', `${run}.json`);
        writeDurably(path, `${JSON.stringify(document, null, 1)}\n`);
        const json = await sha256OfFile(path);
        append({ event: 'run-ended', run, series, seriesAttempt, valid, seconds, sha256: { json, csv } });
      },
      archiveLoad(document, attempt) {
        const { series, seriesAttempt, trial, driver } = document;
        const name = `${series}-${seriesAttempt}-${trial}-${driver}-${attempt}.json`;
        writeDurably(at('loads', name), `${JSON.stringify(document, null, 1)}\n`);
      },
      close() {
        journal.close();
        lock.release();
      },
    };
  } catch (error) {
    journal.close();
    throw error;
  }
}

/** Copies published numbers into the results, so that they can be compared anywhere. */
function keepPublished({ study }: Plan, folder: string): void {
  for (const { file } of study.published) {
    const text = study.files?.[file];
    if (text === undefined) continue;
    mkdirSync(folder, { recursive: true });
    writeDurably(join(folder, basename(file)), text);
  }
}

/**
 * Reads the plan of a results directory.
 *
 * @throws {ConfigError} when the directory has none
 */
export function readPlan(directory: string): Plan {
  const path = join(directory, 'plan.json');
  const advice = `${directory} is not a results directory, which npm run study -- run makes`;
  const plan = readDocument<Plan>(path, MOST_PLAN_BYTES, advice);
  if (plan?.format !== 2 || typeof plan.hash !== 'string' || !Array.isArray(plan.deployments)) {
    throw new ConfigError([
      `${path} is not a plan of this version of Tidegauge: use the version that manifest.json names`,
    ]);
  }
  return plan;
}

/** The journal of a results directory, which another process may be writing. */
export function readEntries(directory: string): readonly JournalEntry[] {
  const path = join(directory, 'journal.jsonl');
  return existsSync(path) ? readJournal(path) : [];
}

function firstEnvironment(journal: string): Environment | undefined {
  if (!existsSync(journal)) return undefined;
  return readJournal(journal).find((entry) => entry.event === 'opened')?.environment;
}

function refuseOthers(directory: string, plan: Plan): void {
  let names: readonly string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new ConfigError([
      `${directory} cannot be used: ${whyFailed(error)}: choose another directory with --results`,
    ]);
  }
  const foreign = names.filter((name) => !LOCK_FILE.test(name));
  // A crash in the first moments leaves these.
  if (
    foreign.every((name) =>
      ['runs', 'loads', 'report', 'published', 'study.yml', `study.yml${PART}`, `plan.json${PART}`].includes(
        name,
      ),
    )
  ) {
    return;
  }
  if (!foreign.includes('plan.json')) {
    throw new ConfigError([
      `${directory} has files and is not a results directory: choose another directory with --results`,
    ]);
  }
  const { hash, study } = readPlan(directory);
  if (hash === plan.hash) return;
  throw new ConfigError([
    `${directory} has results of another plan (${study.name} ${hash.slice(0, 12)}, not ${plan.study.name} ${plan.hash.slice(0, 12)}): choose another directory with --results`,
  ]);
}

function refuseFullDisk(directory: string, needBytes: number): void {
  let existing = resolve(directory);
  while (!existsSync(existing)) existing = dirname(existing);
  if (!statSync(existing).isDirectory()) {
    throw new ConfigError([`${existing} is not a directory: choose another directory with --results`]);
  }
  const { bavail, bsize } = statfsSync(existing);
  const free = bavail * bsize;
  const need = Math.ceil(needBytes * SPARE_DISK);
  if (free >= need) return;
  throw new ConfigError([
    `the disk of ${directory} has ${megabytes(free)} MB free, and the study needs about ${megabytes(need)} MB: make space, or choose another directory with --results`,
  ]);
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1e6);
}

function removeParts(folders: readonly string[]): void {
  for (const folder of folders) {
    const parts = readdirSync(folder).filter((name) => name.endsWith(PART));
    for (const name of parts) rmSync(join(folder, name), { force: true });
    if (parts.length > 0) syncDirectory(folder);
  }
}

async function voidBroken(
  plan: Plan,
  history: History,
  directory: string,
  append: (entry: NewEntry) => void,
  say: (line: string) => void,
): Promise<void> {
  const end = (series: string, attempt: number, reason: string): void => {
    append({ event: 'series-void', series, attempt, reason });
    say(`series ${series} is repeated: ${reason}`);
  };
  for (const { id } of plan.deployments.flatMap(({ series }) => series)) {
    const open = history.openAttempt(id);
    if (open !== null) end(id, open, 'the program ended during the series');
    const complete = history.completeAttempt(id);
    if (complete === null) continue;
    const broken = await brokenFile(directory, history, id);
    if (broken !== null) end(id, complete, `${broken} is missing or damaged`);
  }
}

/** The first file of a complete series that is not as the journal has it, or null. */
async function brokenFile(directory: string, history: History, series: string): Promise<string | null> {
  for (const { run, sha256 } of history.runsOf(series)) {
    const files = [
      [`runs/${run}.json`, sha256.json],
      [`runs/${run}.csv.gz`, sha256.csv],
    ] as const;
    for (const [name, expected] of files) {
      const path = join(directory, name);
      if (!existsSync(path) || (await sha256OfFile(path)) !== expected) return name;
    }
  }
  return null;
}
