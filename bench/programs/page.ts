import { launchChromium } from '@tidegauge/lab/chromium';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { quantile } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { freePort } from '@tidegauge/process';
import { defineConfig, integer, list, oneOf, run } from '@tidegauge/service/program';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import type { ServiceProcess } from '@tidegauge/test-support/service-process';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';
import { type Filled, fillFleet, fillHistory, METRIC, SITE, sensorOf } from '../src/page/fill-site.ts';
import { openProfile, type Profile } from '../src/page/tab.ts';
import { type Step, WatchedPage } from '../src/page/watched-page.ts';

/**
 * `npm run bench -- page`: how fast the live page shows years of readings, and many sensors. Ingest, the API and a headless
 * Chromium run beside each other. A step begins at the time stamp of its click or turn of the wheel, and ends with a frame.
 */
const { quick, json } = BENCH_SETTINGS;
const SETTINGS = defineConfig({
  stores: { kind: list(oneOf(STORES)), default: 'sqlite,postgres', help: 'The stores, one after the other.' },
  days: {
    kind: integer(1, 3650),
    help: 'Days of readings of 20 sensors, one per minute. Default: 730, 21 million readings.',
  },
  quick,
  json,
});

const SENSORS = 20;
const MIB = 2 ** 20;
/** The range that the page shows before a click on `All`. */
const BEFORE = 'last=1d';
/** A visitor looks at a page that was opened for this long, before a click on `All`. Milliseconds. */
const LOOK_MS = 1000;
/** After the list is there, the page reads and paints further parts for this time. Milliseconds. */
const REST_MS = 3000;
const NOTCHES = 20;
const WORDS = 'probe-77';

/** What the page shall reach. `tab` in MiB beyond an empty tab, the others in milliseconds. */
const TARGETS = { all: 300, zoom: 150, tab: 60, turn: 50, task: 50 } as const;

interface Size {
  readonly sensors: number;
  readonly days: number;
  /** Clicks on `All`, each on a newly opened page. */
  readonly opens: number;
  readonly zooms: number;
  /** So many steps in, so many out, and again. */
  readonly depth: number;
  /** Sensors in the list. */
  readonly fleet: number;
}

/** Percentiles of a kind of step, milliseconds. */
interface Times {
  readonly steps: number;
  readonly drawn: Percentiles;
  readonly complete: Percentiles;
  readonly settled: Percentiles;
}

interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

/** The history view with some lines. */
interface History {
  readonly lines: number;
  readonly all: Times;
  readonly zoomIn: Times;
  readonly zoomOut: Times;
  /** Memory of the tab beyond an empty one, before the zooms and after them, and objects of JavaScript after them, bytes. */
  readonly tab: { readonly before: number; readonly after: number; readonly heap: number };
  /** The longest turn of the API's event loop, milliseconds of processor time. */
  readonly turnMs: number;
  /** The longest task of the page, milliseconds. 0: at most 50. */
  readonly taskMs: number;
}

/** The list of sensors. */
interface Fleet {
  readonly sensors: number;
  readonly listedMs: number;
  /** The longest task of the page until then and for a moment, while it scrolls, and while it searches. As `History`. */
  readonly tasksMs: { readonly load: number; readonly scroll: number; readonly search: number };
  readonly turnMs: number;
}

interface Result {
  readonly store: string;
  readonly filled: Filled;
  /** Memory of an empty tab, bytes. */
  readonly emptyTab: number;
  readonly histories: readonly History[];
  readonly fleets: readonly Fleet[];
}

export const program = defineBench({
  name: 'page',
  summary: 'How fast the live page shows years of readings and many sensors.',
  details:
    'Opens the history of one sensor and of 20, shows all of it, zooms in and out with the wheel, and lists many sensors, in a\n' +
    'headless Chromium beside ingest and the API. A view is drawn when it shows values of the new time, complete when nothing\n' +
    'of its lines is being read, and settled when the table has its figures, which are read after a rest of 300 ms.',
  settings: SETTINGS,
  check() {},
  async run({ stores, days, quick }, _checked, context) {
    const size: Size = {
      sensors: SENSORS,
      days: days ?? (quick ? 10 : 730),
      ...(quick
        ? { opens: 2, zooms: 8, depth: 4, fleet: 1000 }
        : { opens: 20, zooms: 200, depth: 12, fleet: 10_000 }),
    };
    const results: Result[] = [];
    for (const store of stores) {
      const closers = new Closers();
      try {
        const result = await measureStore(store, size, { ...context, closers });
        results.push(result);
        print(result);
      } finally {
        await closers.close();
      }
    }
    return { setup: { quick, ...size }, targets: TARGETS, results };
  },
});

async function measureStore(store: string, size: Size, context: BenchContext): Promise<Result> {
  const { closers, signal } = context;
  const places = await startStorePlaces(store);
  closers.add(() => places.stop());
  const site = await places.create('history');
  const filled = await fillHistory(site, size, signal);
  process.stderr.write(
    `${store}: ${showNumber(filled.readings)} readings with rollups in ${showNumber(filled.seconds)} s\n`,
  );
  const browser = await launchChromium();
  closers.add(() => browser.close());
  const profile = await openProfile(browser);
  const blank = await WatchedPage.open(profile, 'about:blank');
  const { process: empty } = await blank.memory();
  await blank.close();
  const histories = await withApi(site, async (api) => {
    const found: History[] = [];
    for (const lines of [1, size.sensors])
      found.push(await measureHistory(profile, api, { lines, empty }, size, signal));
    return found;
  });
  const fleets: Fleet[] = [];
  for (const sensors of [size.sensors, size.fleet]) {
    const url = await places.create(`fleet${sensors}`);
    await fillFleet(url, sensors);
    fleets.push(await withApi(url, (api) => measureFleet(profile, api, sensors)));
  }
  return { store, filled, emptyTab: empty, histories, fleets };
}

/** Calls `measure` with an API beside ingest, so that the page is as in use. */
async function withApi<T>(store: string, measure: (api: ServiceProcess) => Promise<T>): Promise<T> {
  const closers = new Closers();
  try {
    const ingest = await startIngestProcess({
      STORE: store,
      LISTEN: `mqtt://127.0.0.1:${await freePort()}`,
      CLIENT_ID: 'bench-page',
      TOPIC_LEVELS: 'keep',
      DATA_DIR: provideFolder(closers),
    });
    closers.add(() => ingest.stop());
    const api = await startApiProcess({ STORE: store, INGEST: ingest.url }, { watchTurns: true });
    closers.add(() => api.stop());
    return await measure(api);
  } finally {
    await closers.close();
  }
}

async function measureHistory(
  profile: Profile,
  api: ServiceProcess,
  { lines, empty }: { readonly lines: number; readonly empty: number },
  size: Size,
  signal: AbortSignal,
): Promise<History> {
  const shown = lines === 1 ? `s=${sensorOf(0)}/${METRIC}` : `g=${METRIC}/${SITE}`;
  const open = async () => {
    signal.throwIfAborted();
    const page = await WatchedPage.open(profile, `${api.url}/#/history?${shown}&${BEFORE}`);
    await page.settled(lines);
    await page.pause(LOOK_MS);
    return page;
  };
  // Only the first page fills the browser's cache and compiles the code of the API.
  const warm = await open();
  await warm.range('All');
  await warm.close();
  await api.longestTurn();
  const all: Step[] = [];
  for (let number = 1; number < size.opens; number += 1) {
    const page = await open();
    all.push(await page.range('All'));
    await page.close();
  }
  const page = await open();
  try {
    all.push(await page.range('All'));
    await page.takeLongest();
    const { process: before } = await page.memory();
    const [zoomIn, zoomOut]: [Step[], Step[]] = [[], []];
    for (let number = 0; number < size.zooms; number += 1) {
      signal.throwIfAborted();
      const isIn = number % (2 * size.depth) < size.depth;
      // Another place at each way in, and the same on the way out.
      const share = 0.1 + 0.8 * ((Math.floor(number / (2 * size.depth)) * 0.618) % 1);
      (isIn ? zoomIn : zoomOut).push(await page.zoom(isIn ? 'in' : 'out', share));
    }
    const taskMs = await page.takeLongest();
    const { process: after, heap } = await page.memory();
    return {
      lines,
      all: timesOf(all),
      zoomIn: timesOf(zoomIn),
      zoomOut: timesOf(zoomOut),
      tab: { before: before - empty, after: after - empty, heap },
      turnMs: await api.longestTurn(),
      taskMs,
    };
  } finally {
    await page.close();
  }
}

async function measureFleet(profile: Profile, api: ServiceProcess, sensors: number): Promise<Fleet> {
  // As in `measureHistory`.
  const warm = await WatchedPage.open(profile, `${api.url}/`);
  await warm.listed(sensors);
  await warm.close();
  await api.longestTurn();
  const page = await WatchedPage.open(profile, `${api.url}/`);
  try {
    const listedMs = await page.listed(sensors);
    await page.pause(REST_MS);
    const load = await page.takeLongest();
    await page.scrollList(NOTCHES);
    const scroll = await page.takeLongest();
    await page.search(WORDS);
    const search = await page.takeLongest();
    return { sensors, listedMs, tasksMs: { load, scroll, search }, turnMs: await api.longestTurn() };
  } finally {
    await page.close();
  }
}

function timesOf(steps: readonly Step[]): Times {
  const of = (pick: (step: Step) => number): Percentiles => {
    const times = steps.map(pick);
    return { p50: quantile(times, 0.5), p95: quantile(times, 0.95) };
  };
  return {
    steps: steps.length,
    drawn: of(({ drawnMs }) => drawnMs),
    complete: of(({ completeMs }) => completeMs),
    settled: of(({ settledMs }) => settledMs),
  };
}

function print({ store, emptyTab, histories, fleets }: Result): void {
  const pair = ({ p50, p95 }: Percentiles) => `${showNumber(p50)} / ${showNumber(p95)}`;
  const steps = (lines: number, what: string, times: Times, target: number) => [
    `${store}, lines: ${lines}, ${what}`,
    String(times.steps),
    ...[times.drawn, times.complete, times.settled].map(pair),
    String(target),
  ];
  process.stdout.write('\nFrom an input to a frame, milliseconds, median / 95th percentile\n');
  process.stdout.write(
    textTable([
      ['', 'steps', 'drawn', 'complete', 'settled', 'target'],
      ...histories.flatMap(({ lines, all, zoomIn, zoomOut }) => [
        steps(lines, 'All', all, TARGETS.all),
        steps(lines, 'zoom in', zoomIn, TARGETS.zoom),
        steps(lines, 'zoom out', zoomOut, TARGETS.zoom),
      ]),
    ]),
  );
  process.stdout.write('\n');
  const tasks = ({ load, scroll, search }: Fleet['tasksMs']) => [load, scroll, search].map(task).join(' / ');
  const figures = [
    [`${store}: memory of an empty tab, MiB`, mib(emptyTab), ''],
    ...histories.flatMap(({ lines, tab, turnMs, taskMs }) => {
      const name = `${store}, lines: ${lines}`;
      return [
        [
          `${name}: memory of the tab before / after zooming, MiB more`,
          mib(tab.before, tab.after),
          TARGETS.tab,
        ],
        [`${name}: its objects of JavaScript, MiB`, mib(tab.heap), ''],
        [`${name}: longest turn of the API, ms`, showNumber(turnMs), TARGETS.turn],
        [`${name}: longest task of the page, ms`, task(taskMs), TARGETS.task],
      ];
    }),
    ...fleets.flatMap(({ sensors, listedMs, tasksMs, turnMs }) => {
      const name = `${store}, ${sensors} sensors`;
      return [
        [`${name}: listed after, ms`, showNumber(listedMs), ''],
        [`${name}: longest task while it loads / scrolls / searches, ms`, tasks(tasksMs), TARGETS.task],
        [`${name}: longest turn of the API, ms`, showNumber(turnMs), TARGETS.turn],
      ];
    }),
  ];
  process.stdout.write(textTable([['', 'found', 'target'], ...figures.map((row) => row.map(String))]));
}

function task(ms: number): string {
  return ms === 0 ? '≤ 50' : showNumber(ms);
}

function mib(...bytes: readonly number[]): string {
  return bytes.map((each) => showNumber(each / MIB)).join(' / ');
}

if (import.meta.main) process.exitCode = await run(program);
