import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { shuffled } from '@tidegauge/experiments/shuffled';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { textTable } from '@tidegauge/loadtests/results/table';
import { say } from '@tidegauge/loadtests/say';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { defineConfig, list, oneOf, run } from '@tidegauge/service/program';
import { seeded } from '@tidegauge/workload';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { type InstallMedians, type InstallTurn, mediansOf } from '../src/ways/install-medians.ts';
import { INSTALL_WAYS, type InstallWay } from '../src/ways/install-ways.ts';
import { prepareWay, type Show, type ShownWay } from '../src/ways/shown-ways.ts';

const WAYS: readonly ShownWay[] = [...(Object.keys(INSTALL_WAYS) as InstallWay[]), 'node-red'];
const MEGABYTE = 1e6;

const { quick, rounds, seed, json } = BENCH_SETTINGS;
const settings = defineConfig({
  ways: { kind: list(oneOf(WAYS)), default: WAYS.join(','), help: 'What is installed.' },
  rounds,
  seed,
  quick,
  json,
});

export const program = defineBench({
  name: 'install',
  summary:
    'From an empty folder to a reading on the page: npm package, Debian package, image, clone, Node-RED.',
  details:
    'Each turn installs, starts, publishes a reading, and reads the page and the reading. Each has a new folder and an empty\n' +
    'cache of npm. The order is random in each round. Node-RED and the clone need a network, and the image needs root; Node-RED ends with its editor.',
  settings,
  check: ({ ways, rounds, quick }) => ({ ways, rounds: rounds ?? (quick ? 1 : 5) }),
  async run({ seed, quick }, { ways: names, rounds }, { closers, signal }) {
    const folder = provideFolder(closers);
    const ways = new Map<ShownWay, Show>();
    for (const name of names) {
      const made = join(folder, name);
      mkdirSync(made);
      ways.set(name, await prepareWay(name, { folder: made, quick, closers }));
    }
    const random = seeded(seed);
    const turns: InstallTurn[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const [name, show] of shuffled([...ways], random)) {
        signal.throwIfAborted();
        const turn = await takeTurn(name, show, join(folder, 'place'));
        say(`${name}: ${showNumber(turn.seconds)} s`);
        turns.push(turn);
      }
    }
    const medians = mediansOf(turns);
    process.stdout.write(tableOf(medians));
    return { setup: { rounds, seed }, medians, turns };
  },
});

async function takeTurn(way: ShownWay, show: Show, place: string): Promise<InstallTurn> {
  mkdirSync(place);
  try {
    const begun = performance.now();
    const { installedBytes, downloadedBytes, stop } = await show(place);
    const seconds = (performance.now() - begun) / 1000;
    await stop();
    return { way, seconds, installedBytes: installedBytes(), downloadedBytes: downloadedBytes() };
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

function tableOf(medians: readonly InstallMedians[]): string {
  return textTable([
    ['way', 'seconds', 'fastest', 'slowest', 'MB installed', 'MB downloaded'],
    ...medians.map(({ way, seconds, fastestSeconds, slowestSeconds, installedBytes, downloadedBytes }) => [
      way,
      ...[seconds, fastestSeconds, slowestSeconds].map(showNumber),
      ...[installedBytes, downloadedBytes].map((bytes) => showNumber(bytes / MEGABYTE)),
    ]),
  ]);
}

if (import.meta.main) process.exitCode = await run(program);
