import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Capabilities, createStore, optionsOf, STORE_SCHEMES } from '@tidegauge/storage';
import { ROOT } from './setup.js';

export const FILE = join(ROOT, 'docs', 'stores.md');
/** The pages of the engines, which have tables of options between markers. */
export const ENGINE_PAGES = globSync('packages/storage/docs/*.md', { cwd: ROOT }).map((file) =>
  join(ROOT, file),
);
/** It has the table of stores between markers. */
export const README = join(ROOT, 'packages/storage/README.md');

interface Page {
  readonly title: string;
  readonly example: string;
  /** When to choose it. */
  readonly choose: string;
  /** The page of the engine in packages/storage/docs. */
  readonly page?: string;
  /** The server of its conformance run. */
  readonly proven: string;
}

/** Facts that are not in the code of a store, by scheme, in the order of the page. */
const PAGES: Readonly<Record<string, Page>> = {
  sqlite: {
    title: 'SQLite',
    choose: 'one board; the default',
    example: 'sqlite:./data/tidegauge.db',
    page: 'sqlite',
    proven: 'the SQLite of Node.js 24',
  },
  json: {
    title: 'JSON files',
    choose: 'little data, and text tools',
    example: 'json:./data/readings',
    page: 'json',
    proven: 'files in a temporary directory',
  },
  postgres: {
    title: 'PostgreSQL',
    choose: 'several machines, and SQL',
    example: 'postgres://tidegauge:secret@db/tidegauge',
    page: 'postgres',
    proven: 'PostgreSQL 15 of Debian 12',
  },
  citus: {
    title: 'Citus',
    choose: 'more than one PostgreSQL server can take',
    example: 'citus://tidegauge:secret@coordinator/tidegauge?rf=2&shards=8',
    page: 'postgres',
    proven: 'Citus 13.2 on PostgreSQL 15, a coordinator and two workers. Skipped if it is not installed',
  },
  mariadb: {
    title: 'MariaDB',
    choose: 'several machines, and readings that are kept for a fixed time',
    example: 'mariadb://tidegauge:secret@db/tidegauge',
    page: 'mariadb',
    proven: 'MariaDB 10.11 of Debian 12',
  },
  cassandra: {
    title: 'Cassandra',
    choose: 'writes that continue while a node is down',
    example: 'cassandra://tidegauge:secret@db1,db2,db3/tidegauge?rf=3',
    page: 'cassandra',
    proven: 'Cassandra 5.0, one node and three nodes',
  },
  hbase: {
    title: 'HBase',
    choose: 'an existing cluster with HDFS',
    example: 'hbase://zk1,zk2,zk3/tidegauge?presplit=16',
    page: 'hbase',
    proven: 'HBase 2.6.1, standalone and three region servers on HDFS',
  },
  mongodb: {
    title: 'MongoDB',
    choose: 'an existing replica set',
    example: 'mongodb://tidegauge:secret@db/tidegauge',
    page: 'mongodb',
    proven: 'FerretDB 2.7 on DocumentDB, which is compatible with MongoDB. MongoDB itself is not tested',
  },
  influxdb: {
    title: 'InfluxDB',
    choose: 'an existing server, and Grafana on the same data',
    example: 'influxdb://tidegauge:secret@db/tidegauge',
    page: 'influxdb',
    proven: 'InfluxDB 1.8.10',
  },
  null: {
    title: 'null',
    choose: 'benchmarks only: it discards every write',
    example: 'null:',
    proven: 'not tested: it discards every write',
  },
};

/** One line per capability. */
const MEANINGS: Readonly<Record<keyof Capabilities, string>> = {
  countsDuplicates: 'a write distinguishes duplicates from new readings. Otherwise all count as stored',
  namesDuplicates: 'a write names its duplicates, so deliveries over HTTP share commits',
  atomicBatches: 'a batch is stored whole or not at all',
  maxBatch: 'a write with more rows is split',
  writers: 'the number of concurrent writes that increases throughput',
  serverAggregates: 'the database computes aggregates. Otherwise this process computes them from a range',
  orderedScan: 'a scan of records is in the order of keys. Otherwise it is in the order of the database',
  updateIsUpsert: 'an update of a missing record creates it',
  insertIsUpsert: 'an insert of an existing record replaces it',
  ttl: 'the URL can set a ttl, and the database then expires readings',
  consistencyLevels: 'consistency levels that the URL accepts',
  maxReplicationFactor: 'the largest number of copies that the URL can set',
  groupTables: 'sums by day and by metric over all devices are read from tables, which `rollUp` fills',
  rollups: 'figures per minute, hour and day are [kept for each series](retention-and-rollups.md)',
};

/** The page `docs/stores.md`, from the backends themselves. */
export async function storesPage(): Promise<string> {
  const silent = STORE_SCHEMES.filter((scheme) => !Object.hasOwn(PAGES, scheme));
  if (silent.length > 0) throw new Error(`scripts/stores.ts has no entry for ${silent.join(', ')}`);
  const shown = Object.entries(PAGES).filter(([scheme]) => STORE_SCHEMES.includes(scheme));
  const stores = await Promise.all(
    shown.map(async ([scheme, page]) => {
      const { capabilities } = await createStore(page.example);
      return { scheme, page, capabilities };
    }),
  );
  const names = Object.keys(MEANINGS) as (keyof Capabilities)[];
  return `# Stores

\`STORE\` is a URL, and its scheme selects the store. All stores pass one suite,
[packages/storage/conformance](../packages/storage/conformance), so ingest, the API and the benchmarks run on each of them. Options, users, durability and backup are on
the page of each store. [Which one to choose](../packages/storage/README.md#choose-a-store). \`npm run docs\` writes this page.

${table(
  ['store', 'example', 'tested on'],
  stores.map(({ scheme, page }) => [link(scheme, page), `\`${page.example}\``, page.proven]),
)}

## Capabilities

Programs check \`store.capabilities\`, not the name of the store.

${table(
  ['', ...stores.map(({ scheme }) => scheme)],
  names.map((name) => [`\`${name}\``, ...stores.map(({ capabilities }) => show(capabilities[name]))]),
)}

${names.map((name) => `- \`${name}\`: ${MEANINGS[name]}.`).join('\n')}

To add a store: [adding-a-backend.md](adding-a-backend.md).
`;
}

/**
 * A page of an engine with its tables of options as the code has them. A marker `options: citus postgres` stands for
 * the options that citus has and postgres does not.
 */
export async function enginePage(file: string): Promise<string> {
  let page = readFileSync(file, 'utf8');
  for (const [section, scheme, without] of page.matchAll(OPTIONS_SECTION)) {
    const left = Object.keys(without === undefined ? {} : await optionsOf(without));
    const options = Object.entries(await optionsOf(scheme!)).filter(([name]) => !left.includes(name));
    const rows = options.map(([name, option]) => [
      ...[`\`${name}\``, option.takes, String(option.default ?? ''), option.description],
    ]);
    const [first] = section.split('\n');
    const written = `${first}\n${table(['option', 'takes', 'default', ''], rows)}\n<!-- /options -->`;
    page = page.replace(section, () => written);
  }
  return page;
}

const OPTIONS_SECTION = /<!-- options: (\w+)(?: (\w+))? -->\n[\s\S]*?<!-- \/options -->/g;

function link(scheme: string, { page }: Page): string {
  return page === undefined ? scheme : `[${scheme}](../packages/storage/docs/${page}.md)`;
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

/** The README of the package with the table of stores as `PAGES` has it. */
export function readmePage(): string {
  const rows = Object.values(PAGES).map(({ title, page, example, choose }) => [
    page === undefined ? title : `[${title}](docs/${page}.md)`,
    `\`${example}\``,
    choose,
  ]);
  const written = `<!-- stores -->\n${table(['store', 'URL', 'choose it for'], rows)}\n<!-- /stores -->`;
  return readFileSync(README, 'utf8').replace(/<!-- stores -->\n[\s\S]*?<!-- \/stores -->/, () => written);
}

/** Writes the pages. */
export async function writePages(): Promise<void> {
  writeFileSync(README, readmePage());
  writeFileSync(FILE, await storesPage());
  for (const file of ENGINE_PAGES) writeFileSync(file, await enginePage(file));
}
