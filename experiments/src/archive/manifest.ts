import { readdirSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { machine, provenance } from '@tidegauge/loadtests/results/machine';
import type { Environment, JournalEntry, Plan, RunDocument } from '../model.ts';
import { PART, readBounded, readDocument, sha256OfFile, writeDurably } from './durable-files.ts';
import { countRuns, History } from './history.ts';
import { type Overhead, overheadOf } from './overhead.ts';
import { readEntries, readPlan } from './results.ts';

const FILE = 'manifest.json';
const MOST_BYTES = 256 * 2 ** 20;
const JOURNAL = 'journal.jsonl';
const UNLISTED = /^(manifest\.json|study\.lock.*)$/;

export interface FileRecord {
  readonly bytes: number;
  /** Of the first `bytes` bytes: the journal can have become longer. */
  readonly sha256: string;
}

/** Everything that a stranger needs to judge and to repeat the results. */
export interface Manifest {
  readonly format: 1;
  readonly study: string;
  readonly quick: boolean;
  readonly plan: string;
  /** Of the program that wrote the manifest. */
  readonly written: ReturnType<typeof provenance>;
  readonly machine: ReturnType<typeof machine>;
  /** The environments in which the study ran; more than one only with `--force`. */
  readonly environments: readonly Environment[];
  /** Versions of the servers, by deployment and attempt. */
  readonly versions: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly seeds: { readonly study: number; readonly runs: Readonly<Record<string, number>> };
  readonly runs: { readonly planned: number; readonly done: number; readonly invalid: readonly string[] };
  readonly overhead: Overhead;
  /** By path. */
  readonly files: Readonly<Record<string, FileRecord>>;
}

/** Writes `manifest.json` for the present state of a results directory. */
export async function writeManifest(directory: string): Promise<Manifest> {
  const plan = readPlan(directory);
  const entries = readEntries(directory);
  const history = new History(entries);
  const manifest: Manifest = {
    format: 1,
    study: plan.study.name,
    quick: plan.study.quick,
    plan: plan.hash,
    written: provenance(),
    machine: machine(),
    environments: environmentsOf(entries),
    versions: versionsOf(entries),
    seeds: { study: plan.study.seed, runs: seedsOf(directory, history) },
    runs: runsOf(plan, history),
    overhead: overheadOf(entries),
    files: await filesOf(directory, history),
  };
  writeDurably(join(directory, FILE), `${JSON.stringify(manifest, null, 1)}\n`);
  return manifest;
}

/**
 * Compares the files of a results directory with its manifest.
 *
 * @returns one text for each file that is missing, changed or not listed; files of a later run are not listed
 * @throws {ConfigError} when there is no manifest, or it is damaged
 */
export async function verifyManifest(directory: string): Promise<readonly string[]> {
  const advice = `npm run study -- report ${directory} writes it`;
  const { files } = readDocument<Manifest>(join(directory, FILE), MOST_BYTES, advice);
  const problems: string[] = [];
  const present = new Set(listFiles(directory));
  for (const [name, { bytes, sha256 }] of Object.entries(files)) {
    if (!present.delete(name)) {
      problems.push(`${name} is missing`);
      continue;
    }
    const path = join(directory, name);
    const { size } = statSync(path);
    const sameSize = name === JOURNAL ? size >= bytes : size === bytes;
    if (!sameSize || (await sha256OfFile(path, bytes)) !== sha256) problems.push(`${name} has changed`);
  }
  return [...problems, ...[...present].map((name) => `${name} is not in the manifest`)];
}

async function filesOf(directory: string, history: History): Promise<Readonly<Record<string, FileRecord>>> {
  const files: Record<string, FileRecord> = {};
  for (const name of listFiles(directory)) {
    const path = join(directory, name);
    const { size: bytes } = statSync(path);
    files[name] = { bytes, sha256: knownHash(name, history) ?? (await sha256OfFile(path, bytes)) };
  }
  return files;
}

/** The hash of a run's file from the journal, so that gigabytes are not read again after each deployment. */
function knownHash(name: string, history: History): string | undefined {
  const [, run, kind] = /^runs\/(.+)\.(json|csv\.gz)$/.exec(name) ?? [];
  const sha256 = run === undefined ? undefined : history.runs.get(run)?.sha256;
  return kind === 'json' ? sha256?.json : sha256?.csv;
}

function listFiles(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(PART))
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((name) => !UNLISTED.test(name))
    .toSorted();
}

function environmentsOf(entries: readonly JournalEntry[]): readonly Environment[] {
  const texts = new Set<string>();
  for (const entry of entries) if (entry.event === 'opened') texts.add(JSON.stringify(entry.environment));
  return [...texts].map((text) => JSON.parse(text) as Environment);
}

function versionsOf(entries: readonly JournalEntry[]): Manifest['versions'] {
  const versions: Record<string, Readonly<Record<string, string>>> = {};
  for (const entry of entries) {
    if (entry.event === 'deployment-ready') versions[`${entry.deployment} ${entry.attempt}`] = entry.versions;
  }
  return versions;
}

function seedsOf(directory: string, history: History): Readonly<Record<string, number>> {
  const seeds: Record<string, number> = {};
  for (const run of history.runs.keys()) {
    const text = readBounded(join(directory, 'runs', `${run}.json`), MOST_BYTES);
    seeds[run] = (JSON.parse(text) as RunDocument).seed;
  }
  return seeds;
}

function runsOf(plan: Plan, history: History): Manifest['runs'] {
  return countRuns(plan, history);
}
