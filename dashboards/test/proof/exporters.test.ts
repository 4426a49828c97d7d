import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@tidegauge/lab';
import { startCassandra } from '@tidegauge/lab/cassandra';
import { startExporter, startNodeExporterWithDisk } from '@tidegauge/lab/exporters';
import { startHbase } from '@tidegauge/lab/hbase';
import { type JmxAgent, jmxAgent } from '@tidegauge/lab/jmx-agent';
import { startMariadb } from '@tidegauge/lab/mariadb';
import { startMongodb } from '@tidegauge/lab/mongodb';
import { makeNodeGroup, memoryLimitRefusal } from '@tidegauge/lab/node-group';
import { startPostgres } from '@tidegauge/lab/postgres';
import { type Prometheus, startPrometheus } from '@tidegauge/lab/prometheus';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram } from '@tidegauge/process';
import { parse } from 'yaml';
import { CONFIG } from '../../src/config.ts';
import { alertsFile } from '../../src/rule-files.ts';
import { clears, fires, panelQueries, textOf, until, withoutData } from '../alert-watch.ts';
import { type DrawingModel, drawingFaults, drawingPage, drawModels, shownNow } from '../drawing.ts';

const MONITORING = join(import.meta.dirname, '..', '..', '..', 'stacks', 'monitoring');
const DISK_MEGABYTES = 16;
/** An exporter is slow on a busy machine. After this time it counts as down. */
const SCRAPE_MS = 2000;
const OUT_OF_MEMORY_BYTES = 16 * 2 ** 20;

/** Virtual machines have neither. A disk that does not fill has no time until it is full. */
const PHYSICAL = new Set(['Temperature', 'CPU clock relative to its maximum', 'Low voltage']);
const FILLING = 'Time until the disk is full';
const KILLED = 'Processes killed for lack of memory';
/** The server that replaces MongoDB has no diagnostic data. */
const DIAGNOSTIC = new Set(['Operations', 'Connections to MongoDB']);

const STORE = 'tidegauge-store';
const BOARDS = 'tidegauge-boards';
const OVERVIEW = 'tidegauge-overview';

const libraries = await startOrSkip('grafana-libraries', drawingPage);
/** What dashboards have shown. One browser draws all of it at the end. */
const models: DrawingModel[] = [];

/** Keeps what dashboards show after two further scrapes, or only their rows with such a title. */
async function see(
  state: string,
  prometheus: Prometheus,
  dashboards: readonly string[],
  rows?: RegExp,
): Promise<void> {
  await sleep(2 * SCRAPE_MS);
  const view = { state, prometheus, dashboards, rows, seconds: 60, scrapeMs: SCRAPE_MS };
  models.push(...(await shownNow(view)));
}

async function watch(
  context: TestContext,
  targets: Readonly<Record<string, string>>,
  ruleFiles: readonly string[] = [],
): Promise<Prometheus> {
  const prometheus = await startPrometheus({
    targets: Object.fromEntries(Object.entries(targets).map(([job, target]) => [job, [target]])),
    scrapeMs: SCRAPE_MS,
    ruleFiles,
  });
  context.after(() => prometheus.stop());
  return prometheus;
}

/** Waits until every query of the panels has returned data. The error lists those that have returned none. */
async function allReturnData(prometheus: Prometheus, chosen: ReturnType<typeof panelQueries>): Promise<void> {
  assert.ok(chosen.length > 0);
  let empty = chosen;
  const returnData = async () => {
    empty = await withoutData(prometheus, empty);
    return empty.length === 0;
  };
  await until('every panel has data', returnData, SCRAPE_MS / 2).catch(() =>
    assert.deepEqual(empty.map(textOf), []),
  );
}

const inRow = (row: RegExp) =>
  panelQueries('10s').filter((query) => query.dashboard === STORE && row.test(query.row));

/** The flags of an exporter in the stack, except the addresses of its database and of its listener. */
function shippedFlags(database: string): string[] {
  const { services } = parse(readFileSync(join(MONITORING, `${database}.yml`), 'utf8')) as {
    services: Readonly<Record<string, { command: string[] }>>;
  };
  const { command } = services[`${database}-exporter`]!;
  return command.filter((flag) => !/^--(web\.listen-address|mysqld\.|mongodb\.uri)/.test(flag));
}

/** Null if the server is not available. The test is then skipped, with the reason. */
async function have<S extends { stop(): Promise<void> }>(
  context: TestContext,
  name: string,
  start: () => Promise<S>,
): Promise<S | null> {
  const started = await startOrSkip(name, start);
  if ('skip' in started) context.skip(started.skip);
  else context.after(() => started.server.stop());
  return 'server' in started ? started.server : null;
}

// The tests wait for scrapes most of the time, so two can run at once.
describe('the metrics of exporters', { concurrency: 2 }, () => {
  test('the exporter of PostgreSQL has data for every panel', async (context) => {
    const postgres = await have(context, 'postgres', () => startPostgres());
    if (postgres === null) return;
    // As stacks/postgres/init.sh leaves it.
    await postgres.query("create role tidegauge_store login password 'known'");
    await postgres.query('create database tidegauge owner tidegauge_store');
    await postgres.query('revoke all on database postgres, template1, tidegauge from public');
    const exporter = await have(context, 'postgres-exporter', () =>
      startExporter('postgres', {
        args: shippedFlags('postgres'),
        env: {
          DATA_SOURCE_NAME: `postgres://tidegauge_store:known@127.0.0.1:${postgres.port}/tidegauge?sslmode=disable`,
        },
      }),
    );
    if (exporter === null) return;
    const prometheus = await watch(context, { postgres: exporter.target });
    await allReturnData(prometheus, inRow(/postgres_exporter/));
    await see('postgres', prometheus, [STORE], /postgres_exporter/);
  });

  test('the exporter of MariaDB has data for every panel', async (context) => {
    const mariadb = await have(context, 'mariadb', () => startMariadb());
    if (mariadb === null) return;
    // As stacks/mariadb/init.sh leaves it.
    await mariadb.query(
      "create database tidegauge; create user tidegauge_store@'%' identified by 'known'; grant all on tidegauge.* to tidegauge_store@'%'",
    );
    const exporter = await have(context, 'mariadb-exporter', () =>
      startExporter('mariadb', {
        args: [
          ...shippedFlags('mariadb'),
          `--mysqld.address=127.0.0.1:${mariadb.port}`,
          '--mysqld.username=tidegauge_store',
        ],
        env: { MYSQLD_EXPORTER_PASSWORD: 'known' },
      }),
    );
    if (exporter === null) return;
    const prometheus = await watch(context, { mariadb: exporter.target });
    await allReturnData(prometheus, inRow(/mysqld_exporter/));
    await see('mariadb', prometheus, [STORE], /mysqld_exporter/);
  });

  test('the exporter of MongoDB has data for every panel that the server supports', async (context) => {
    const mongodb = await have(context, 'mongodb', () => startMongodb());
    if (mongodb === null) return;
    const exporter = await have(context, 'mongodb-exporter', () =>
      startExporter('mongodb', {
        args: ['--collector.diagnosticdata'],
        env: { MONGODB_URI: mongodb.url('admin') },
      }),
    );
    if (exporter === null) return;
    const prometheus = await watch(context, { mongodb: exporter.target });
    const queries = inRow(/mongodb_exporter/);
    const stand = mongodb.server === 'FerretDB';
    await allReturnData(
      prometheus,
      queries.filter(({ panel }) => !(stand && DIAGNOSTIC.has(panel))),
    );
    await see('mongodb', prometheus, [STORE], /mongodb_exporter/);
  });

  for (const [name, start] of [
    ['cassandra', (agent: JmxAgent) => startCassandra({ jvm: [agent.argument] })],
    ['hbase', (agent: JmxAgent) => startHbase({ jvm: [agent.argument] })],
  ] as const) {
    test(`the JMX exporter has data for every panel of ${name} and its JVM`, async (context) => {
      const configuration = join(MONITORING, `jmx-${name}.yml`);
      const found = await startOrSkip('jmx-agent', async () => jmxAgent(await freePort(), configuration));
      if ('skip' in found) return context.skip(found.skip);
      const server = await have<{ stop(): Promise<void> }>(context, name, () => start(found.server));
      if (server === null) return;
      const prometheus = await watch(context, { [name]: found.server.target });
      const rows = new RegExp(`^(${name}|JVMs) .*\\(JMX exporter\\)`, 'i');
      await allReturnData(prometheus, inRow(rows));
      await see(name, prometheus, [STORE], rows);
    });
  }

  test('the node exporter has data for every panel of boards, and a filling disk causes an alert', {
    skip: process.getuid?.() === 0 ? false : 'only root can mount a disk',
  }, async (context) => {
    const node = await have(context, 'node-exporter', () => startNodeExporterWithDisk(DISK_MEGABYTES));
    if (node === null) return;
    const directory = await mkdtemp(join(tmpdir(), 'tidegauge-dashboards-test-'));
    context.after(() => rm(directory, { recursive: true }));
    const rules = join(directory, 'alerts.yml');
    // The test uses seconds for hours: the disk fills faster by the same factor.
    await writeFile(rules, alertsFile({ ...CONFIG, patience: 0.001 }));
    const prometheus = await watch(context, { node: node.target }, [rules]);
    const boards = panelQueries('10s').filter(
      ({ dashboard, panel, expression }) =>
        dashboard === BOARDS ||
        (dashboard === OVERVIEW && panel === 'Boards' && !expression.includes('node_thermal')),
    );
    await allReturnData(
      prometheus,
      boards.filter(({ panel }) => panel !== FILLING && !PHYSICAL.has(panel)),
    );
    await see('board', prometheus, [BOARDS]);

    const { bavail, bsize } = await statfs(node.disk);
    const fill = (share: number) =>
      writeFile(join(node.disk, 'fill'), Buffer.alloc(Math.floor(share * bavail) * bsize));
    await fill(0.6);
    // The disks of this machine can also fill during the test.
    const soon = 'TidegaugeDiskFullSoon{mountpoint="/srv"}';
    const nearly = 'TidegaugeDiskNearlyFull{mountpoint="/srv"}';
    await fires(prometheus, soon);
    await allReturnData(
      prometheus,
      boards.filter(({ panel }) => panel === FILLING),
    );
    await fill(0.95);
    if (memoryLimitRefusal() === null) {
      await runOutOfMemory();
      const { expression } = boards.find(({ panel }) => panel === KILLED)!;
      const isCounted = async () => (await prometheus.query(expression)).some(({ value }) => value > 0);
      await until('the killed process is counted', isCounted);
    }
    await fires(prometheus, nearly);
    await see('bad-board', prometheus, [OVERVIEW, BOARDS]);
    await rm(join(node.disk, 'fill'));
    await clears(prometheus, soon, nearly);
  });
});

/** Has the kernel end a process that needs more memory than it may have. */
async function runOutOfMemory(): Promise<void> {
  const group = makeNodeGroup(OUT_OF_MEMORY_BYTES);
  try {
    const script = 'echo 0 >"$0" && exec tail /dev/zero';
    await runProgram('sh', ['-c', script, join(group.directory, 'cgroup.procs')], { accept: 'any' });
  } finally {
    await group.remove();
  }
}

test('every panel of an exporter can be read, on a desktop and on a telephone, also during a fault', {
  skip: 'skip' in libraries ? libraries.skip : false,
}, async () => {
  const panels = await drawModels(models);
  const mayBeEmpty = new Set([...PHYSICAL, ...DIAGNOSTIC, FILLING]);
  assert.deepEqual(
    drawingFaults(panels, ({ dashboard, title }) => dashboard === OVERVIEW || mayBeEmpty.has(title)),
    [],
  );
  const shown = (name: string) =>
    panels.filter(({ state, title }) => state === 'bad-board' && title === name);
  for (const { text } of shown('Alerts firing')) assert.match(text, /DiskNearlyFull/);
  if (memoryLimitRefusal() !== null) return;
  for (const { text } of shown(KILLED)) assert.match(text, /\n\s*[1-9]\d*$/);
});
