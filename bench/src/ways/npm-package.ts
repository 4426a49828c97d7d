import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { packFolder } from '../../../scripts/pack-folder.ts';
import { NODE } from '../../../scripts/setup.js';
import type { StartCommand } from './pipeline.ts';

/** Builds the npm package of this clone below a folder. Resolves to the path of its archive. */
export async function packPackage(folder: string): Promise<string> {
  // The compiler of TypeScript, which it loads, is large.
  const { buildPackage } = await import('../../../scripts/package/build-package.ts');
  const built = join(folder, 'package');
  await buildPackage(built);
  const archive = join(folder, 'tidegauge.tgz');
  await packFolder(built, archive, 0);
  return archive;
}

/** Installs that archive in a new folder, without a network: the package contains all that it needs, except Node. */
export async function installPackage(archive: string, folder: string): Promise<StartCommand> {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const args = ['install', '--offline', '--no-audit', '--no-fund', archive];
  await runProgram('npm', args, { cwd: folder });
  const program = join(folder, 'node_modules', 'tidegauge', 'bin', 'tidegauge.js');
  return { command: NODE, args: [program, 'start'], cwd: folder };
}
