import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitText, freePort, runProgram, startProcess, waitUntil } from '@tidegauge/process';
import { NODE } from '../../../scripts/setup.js';
import { folderBytes } from './folder-bytes.ts';
import {
  INSTALL_MS,
  INSTALL_WAYS,
  type Installed,
  type InstallWay,
  type Preparation,
} from './install-ways.ts';
import { showReading, startPipeline } from './pipeline.ts';

/** The version that scripts/test/integration/node-red.test.ts tests. */
const NODE_RED = 'node-red@5.0.7';
/** The first start of a clone downloads its packages. */
const START_MS = INSTALL_MS;

export type ShownWay = InstallWay | 'node-red';

/** An installation that shows a reading. */
export interface Shown extends Pick<Installed, 'installedBytes' | 'downloadedBytes'> {
  stop(): Promise<void>;
}

/** Installs in an empty folder, starts, and resolves when a reading is shown. */
export type Show = (place: string) => Promise<Shown>;

/** Makes a way ready. */
export async function prepareWay(way: ShownWay, preparation: Preparation): Promise<Show> {
  if (way === 'node-red') return showNodeRed;
  const install = await INSTALL_WAYS[way](preparation);
  return async (place) => show(await install(place), place);
}

async function show({ start, remove, ...sizes }: Installed, place: string): Promise<Shown> {
  const pipeline = await startPipeline(start, join(place, 'data'), START_MS);
  const stop = async () => {
    await pipeline.stop();
    await remove?.();
  };
  try {
    await showReading(pipeline);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...sizes, stop };
}

/** Node-RED has no broker and no store, so it is ready when its editor is served. */
async function showNodeRed(place: string): Promise<Shown> {
  const folder = join(place, 'installed');
  const cache = join(place, 'cache');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', NODE_RED];
  await runProgram('npm', args, { cwd: folder, env: { npm_config_cache: cache }, timeoutMs: INSTALL_MS });
  const port = await freePort();
  const user = join(place, 'data');
  mkdirSync(user);
  const settings = {
    uiHost: '127.0.0.1',
    uiPort: port,
    flowFile: 'flows.json',
    telemetry: { enabled: false, updateNotification: false },
  };
  writeFileSync(join(user, 'settings.js'), `module.exports = ${JSON.stringify(settings)};`);
  const program = join(folder, 'node_modules', 'node-red', 'red.js');
  const nodeRed = startProcess({ command: NODE, args: [program, '--userDir', user], cwd: user });
  const isServed = async () => {
    if (!nodeRed.running) throw new Error(`Node-RED: ${exitText(await nodeRed.exited)}: ${nodeRed.log()}`);
    return fetch(`http://127.0.0.1:${port}/`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  const stop = async () => void (await nodeRed.stop());
  try {
    await waitUntil('the editor of Node-RED', isServed, { timeoutMs: START_MS, pollMs: 20 });
  } catch (error) {
    await stop();
    throw error;
  }
  return { installedBytes: () => folderBytes(folder), downloadedBytes: () => folderBytes(cache), stop };
}
