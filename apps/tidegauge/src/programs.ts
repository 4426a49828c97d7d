import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { ConfigError, type Program } from '@tidegauge/service/program';

/** A program of `tidegauge`. */
export interface ProgramEntry {
  /** Its module from the root, without the extension, which is .ts in a clone and .js in the npm package. */
  readonly module: string;
  /** A few words for the overview. The module has the complete help. */
  readonly summary: string;
  /** Variables that have another name in this program, so that a setting of the user reaches all programs. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** The npm package does not have it: it needs Python, real servers or Docker. */
  readonly cloneOnly?: true;
}

/** What the module of a program exports. */
export interface ProgramModule {
  readonly program?: Program;
  /** Instead of `program`, where the arguments are read elsewhere. Resolves to the exit code. */
  readonly main?: (argv: readonly string[]) => Promise<number>;
}

/** The programs of `tidegauge` in the groups of its help. Only the module of the chosen one is imported. */
export const PROGRAM_GROUPS: Readonly<Record<string, Readonly<Record<string, ProgramEntry>>>> = {
  Run: {
    start: {
      module: 'apps/tidegauge/src/start',
      summary: 'the whole pipeline on this machine',
      // Ingest and the simulator have other names for the same settings.
      renamed: { DATA_DIR: 'DATA', SIM_SENSORS: 'SENSORS' },
    },
    ingest: { module: 'services/ingest/src/main', summary: 'stores what sensors publish' },
    api: { module: 'services/api/src/main', summary: 'the HTTP API and the live page' },
  },
  Access: {
    keys: { module: 'services/api/src/keys', summary: 'keys of the HTTP API' },
    passwords: {
      module: 'services/ingest/src/direct/passwords-main',
      summary: 'passwords of sensors, for ingest without a broker',
    },
  },
  Examine: {
    explain: { module: 'services/ingest/src/explain-main', summary: 'what becomes of a message, and why' },
    quarantine: {
      module: 'services/ingest/src/quarantine-cli/main',
      summary: 'messages that could not be stored: list, replay, discard',
    },
    ledger: { module: 'services/ingest/src/ledger/main', summary: 'compares what was sent with the store' },
    attest: {
      module: 'services/ingest/src/attest/main',
      summary: 'signed documents about the readings of each day',
    },
    check: { module: 'services/ingest/src/check/main', summary: 'checks all files for damage of the disk' },
    repair: {
      module: 'services/ingest/src/check/repair',
      summary: 'takes out damaged parts of a store, and their readings from another one',
    },
    doctor: { module: 'services/doctor/src/main', summary: 'checks a board, its broker and its store' },
  },
  Data: {
    backup: { module: 'services/backup/src/main', summary: 'a backup of a store that is in use' },
    restore: { module: 'services/backup/src/restore-main', summary: 'writes a backup to an empty store' },
    copy: { module: 'apps/copy/src/main', summary: 'copies a store to another one' },
    import: { module: 'apps/import/src/main', summary: 'history from other programs, such as InfluxDB' },
    retention: { module: 'services/ingest/src/retention/main', summary: 'deletes old readings once' },
    rollup: { module: 'apps/rollup/src/main', summary: 'computes totals of days' },
  },
  Swarm: {
    'broker-metrics': {
      module: 'services/broker-metrics/src/main',
      summary: "mosquitto's statistics for Prometheus",
    },
    'citus-membership': {
      module: 'services/citus-membership/src/main',
      summary: "keeps a Citus coordinator's list of workers",
      cloneOnly: true,
    },
  },
  Test: {
    sim: { module: 'apps/tidegauge/src/sim', summary: 'simulated sensors', cloneOnly: true },
    lab: { module: 'lab/src/cli', summary: 'real servers on this machine', cloneOnly: true },
    loadtest: { module: 'loadtests/src/loadtest', summary: 'load tests with k6', cloneOnly: true },
    study: {
      module: 'experiments/src/main',
      summary: 'experiments: a file in, a report out',
      cloneOnly: true,
    },
  },
  Shell: {
    completion: { module: 'apps/tidegauge/src/completion', summary: 'completes commands in bash and zsh' },
  },
};

/** All programs by name. */
export const PROGRAMS: Readonly<Record<string, ProgramEntry>> = Object.fromEntries(
  Object.values(PROGRAM_GROUPS).flatMap((group) => Object.entries(group)),
);

/** The file of a program in this installation. */
function fileOf({ module }: ProgramEntry): URL {
  return new URL(`../../../${module}${extname(import.meta.filename)}`, import.meta.url);
}

/** Whether this installation has a program. */
export function isInstalled(entry: ProgramEntry): boolean {
  return existsSync(fileOf(entry));
}

/**
 * Imports the module of a program.
 *
 * @param name one of `PROGRAMS`
 * @throws {ConfigError} when this installation does not have it
 */
export async function loadProgram(name: string): Promise<ProgramModule> {
  const entry = PROGRAMS[name]!;
  if (!isInstalled(entry))
    throw new ConfigError([`tidegauge ${name} works in a clone of the repository only`]);
  return (await import(fileOf(entry).href)) as ProgramModule;
}
