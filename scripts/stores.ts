import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Capabilities, createStore, STORE_SCHEMES } from '@tidegauge/storage';
import { ROOT } from './setup.js';

export const FILE = join(ROOT, 'docs', 'stores.md');

interface Page {
  readonly example: string;
  /** What its conformance run talks to. */
  readonly proven: string;
}

/** What the code cannot know of a store, by scheme, in the order of the page. */
const PAGES: Readonly<Record<string, Page>> = {
  sqlite: { example: 'sqlite:./data/tidegauge.db', proven: 'the SQLite in Node.js 24' },
  json: { example: 'json:./data/readings', proven: 'files in a temporary folder' },
  postgres: {
    example: 'postgres://tidegauge:secret@db/tidegauge',
    proven: 'PostgreSQL 15 of Debian 12',
  },
  citus: {
    example: 'citus://tidegauge:secret@coordinator/tidegauge?rf=2&shards=8',
    proven:
      'Citus 13.2 on PostgreSQL 15, a coordinator and two workers; skipped by name where it is not installed',
  },
  mariadb: { example: 'mariadb://tidegauge:secret@db/tidegauge', proven: 'MariaDB 10.11 of Debian 12' },
  cassandra: {
    example: 'cassandra://tidegauge:secret@db1,db2,db3/tidegauge?rf=3',
    proven: 'Cassandra 5.0: one node, and three',
  },
  hbase: {
    example: 'hbase://zk1,zk2,zk3/tidegauge?presplit=16',
    proven: 'HBase 2.6.1: standalone, and three region servers on HDFS',
  },
  mongodb: {
    example: 'mongodb://tidegauge:secret@db/tidegauge',
    proven:
      'a MongoDB-compatible server: FerretDB 2.7 on DocumentDB. MongoDB itself is not among our test servers',
  },
  null: { example: 'null:', proven: 'keeps nothing, so there is nothing to prove' },
};

/** One line per capability; the type keeps it whole. */
const MEANINGS: Readonly<Record<keyof Capabilities, string>> = {
  countsDuplicates: 'a write tells duplicates from new readings; else all count as stored',
  atomicBatches: 'a batch is stored whole or not at all',
  maxBatch: 'rows beyond which a write is split',
  writers: 'writes at once that still gain throughput',
  serverAggregates: 'the database computes aggregates; else they are computed here from a range',
  orderedScan: 'a scan of records is in key order; else in the engine’s own',
  updateIsUpsert: 'updating a record that is not there creates it',
  insertIsUpsert: 'inserting a record that is there replaces it',
  ttl: 'the engine expires readings by itself when the URL sets a ttl',
  consistencyLevels: 'consistency levels the URL accepts',
  maxReplicationFactor: 'copies the URL can ask for',
};

/** The page `docs/stores.md`, from the backends themselves. */
export async function storesPage(): Promise<string> {
  const silent = STORE_SCHEMES.filter((scheme) => !Object.hasOwn(PAGES, scheme));
  if (silent.length > 0) throw new Error(`scripts/stores.ts says nothing of ${silent.join(', ')}`);
  const shown = Object.entries(PAGES).filter(([scheme]) => STORE_SCHEMES.includes(scheme));
  const stores = await Promise.all(
    shown.map(async ([scheme, page]) => {
      const { capabilities } = await createStore(page.example);
      return { scheme, page, capabilities };
    }),
  );
  const names = Object.keys(MEANINGS) as (keyof Capabilities)[];
  return `# Stores

\`STORE\` is a URL, and its scheme picks the store. All of them pass one suite,
[packages/storage/conformance](../packages/storage/conformance), so ingest, the API and the benchmarks run on each
unchanged; options are in [the package's README](../packages/storage/README.md). This page is made by \`npm run docs\`.

${table(
  ['store', 'for example', 'proven on'],
  stores.map(({ scheme, page }) => [scheme, `\`${page.example}\``, page.proven]),
)}

## Capabilities

What differs is data: callers ask \`store.capabilities\`, never the store's name.

${table(
  ['', ...stores.map(({ scheme }) => scheme)],
  names.map((name) => [`\`${name}\``, ...stores.map(({ capabilities }) => show(capabilities[name]))]),
)}

${names.map((name) => `- \`${name}\`: ${MEANINGS[name]}.`).join('\n')}

How to add one: [adding-a-backend.md](adding-a-backend.md).
`;
}

function show(value: Capabilities[keyof Capabilities]): string {
  if (typeof value === 'boolean') return value ? 'yes' : '-';
  if (typeof value === 'number') return value.toLocaleString('en');
  return value.length === 0 ? '-' : value.join(', ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

if (import.meta.main) writeFileSync(FILE, await storesPage());
