import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { runProgram, temporaryDirectory } from '@tidegauge/process';
import { defineConfig, list, oneOf, run } from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { fillStore } from '@tidegauge/test-support/sample-readings';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';

const mainOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const BACKUP = mainOf('services/backup/src/main.ts');
const RESTORE = mainOf('services/backup/src/restore-main.ts');
const COPY = mainOf('apps/copy/src/main.ts');
const FOREVER = { timeoutMs: Number.POSITIVE_INFINITY };

const { quick, rounds, json } = BENCH_SETTINGS;
const settings = defineConfig({
  stores: {
    kind: list(oneOf(['postgres', 'mariadb'])),
    default: 'postgres,mariadb',
    help: 'The databases. The lab starts them.',
  },
  rounds,
  quick,
  json,
});

/** A way to back up and restore. Both write to the disk before they end. */
interface Way {
  /** Resolves to the path of the backup. */
  backUp(store: string, folder: string): Promise<string>;
  restore(backup: string, store: string): Promise<unknown>;
}

const OURS: Way = {
  async backUp(store, folder) {
    const { stdout } = await node(BACKUP, '--store', store, '--to', folder, '--json');
    return (JSON.parse(stdout) as { path: string }).path;
  },
  restore: (backup, store) => node(RESTORE, '--from', backup, '--store', store),
};

/** The database's own tool, with the compression of our files: gzip, level 5. */
const OWN: Readonly<Record<string, Way>> = {
  postgres: {
    async backUp(store, folder) {
      const dump = await findProgram('pg_dump', 'postgresql-client-15');
      const file = join(folder, 'own.dump');
      await runProgram(dump, ['--format=custom', '--compress=5', `--file=${file}`, store], FOREVER);
      return file;
    },
    async restore(backup, store) {
      const restore = await findProgram('pg_restore', 'postgresql-client-15');
      await runProgram(restore, ['--exit-on-error', `--dbname=${store}`, backup], FOREVER);
    },
  },
  mariadb: {
    async backUp(store, folder) {
      const dump = await findProgram('mariadb-dump', 'mariadb-client');
      const file = join(folder, 'own.sql.gz');
      const { args, env, database } = mariadbLogin(store);
      const script = '"$@" | gzip -5 >"$FILE" && sync "$FILE"';
      const all = ['-o', 'pipefail', '-c', script, 'bash', dump, ...args, '--single-transaction', database];
      await runProgram('bash', all, { ...FOREVER, env: { ...env, FILE: file } });
      return file;
    },
    async restore(backup, store) {
      const client = await findProgram('mariadb', 'mariadb-client');
      const { args, env, database } = mariadbLogin(store);
      const script = 'gzip -dc "$FILE" | "$@"';
      const all = ['-o', 'pipefail', '-c', script, 'bash', client, ...args, database];
      await runProgram('bash', all, { ...FOREVER, env: { ...env, FILE: backup } });
    },
  },
};

function mariadbLogin(store: string) {
  const { hostname, port, username, password, pathname } = new URL(store);
  return {
    args: ['--no-defaults', '--protocol=tcp', `--host=${hostname}`, `--port=${port}`, `--user=${username}`],
    env: { MYSQL_PWD: decodeURIComponent(password) },
    database: pathname.slice(1),
  };
}

interface Figures {
  readonly store: string;
  readonly way: 'npm run backup' | 'own tool';
  readonly backupSeconds: number;
  readonly restoreSeconds: number;
  readonly bytes: number;
}

export const program = defineBench({
  name: 'backup',
  summary: 'Compares npm run backup and npm run restore with the tool of the database, on one server.',
  details:
    'Each round makes a backup and restores it to an empty database, in both ways. npm run backup computes digests, and\n' +
    'npm run restore reads the restored store again and compares them. The restored stores are compared with the first one.',
  settings,
  check: ({ stores, rounds, quick }) => ({
    stores,
    readings: quick ? 2000 : 1_000_000,
    rounds: rounds ?? (quick ? 1 : 3),
  }),
  async run(_config, { stores, readings, rounds }, { closers, signal }) {
    const figures: Figures[] = [];
    for (const store of stores) {
      const server = await startStorePlaces(store);
      closers.add(() => server.stop());
      const folder = temporaryDirectory('bench-backup');
      closers.add(async () => folder.remove());
      const first = await server.create('first');
      await fillStore(openStore(first), readings);
      for (let round = 0; round < rounds; round += 1) {
        for (const [way, does] of [
          ['npm run backup', OURS],
          ['own tool', OWN[store]!],
        ] as const) {
          signal.throwIfAborted();
          const target = await server.create(`${way === 'own tool' ? 'own' : 'ours'}${round}`);
          const { result: path, seconds: backupSeconds } = await timed(() => does.backUp(first, folder.path));
          const { seconds: restoreSeconds } = await timed(() => does.restore(path, target));
          await node(COPY, 'verify', '--from', first, '--to', target);
          const bytes = await bytesOf(path);
          figures.push({ store, way, backupSeconds, restoreSeconds, bytes });
          process.stderr.write(`${store}, ${way}: ${showNumber(backupSeconds)} s\n`);
        }
      }
      await server.stop();
    }
    process.stdout.write(textTable([HEADING, ...rowsOf(figures)]));
    return { readings, rounds, figures };
  },
});

const HEADING = ['store', 'way', 'backup s', 'restore s', 'MB'];

/** Medians of each store and way. */
function rowsOf(figures: readonly Figures[]): string[][] {
  return [...Map.groupBy(figures, ({ store, way }) => `${store} ${way}`).values()].map((some) => {
    const of = (value: (each: Figures) => number) => showNumber(median(some.map(value)));
    const { store, way } = some[0]!;
    const seconds = [of(({ backupSeconds }) => backupSeconds), of(({ restoreSeconds }) => restoreSeconds)];
    return [store, way, ...seconds, of(({ bytes }) => bytes / 1e6)];
  });
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly seconds: number }> {
  const begun = performance.now();
  const result = await work();
  return { result, seconds: (performance.now() - begun) / 1000 };
}

/** Size of a file, or of the files in a folder. */
async function bytesOf(path: string): Promise<number> {
  if (statSync(path).isFile()) return statSync(path).size;
  const { stdout } = await runProgram('du', ['--bytes', '--summarize', path]);
  return Number.parseInt(stdout, 10);
}

function node(main: string, ...args: readonly string[]) {
  return runProgram(process.execPath, [main, ...args], FOREVER);
}

if (import.meta.main) process.exitCode = await run(program);
