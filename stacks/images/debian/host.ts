import { execFile } from 'node:child_process';
import { copyFile, cp, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cassandraJars } from '@tidegauge/lab/cassandra';
import { findProgram } from '@tidegauge/lab/debian';
import { hbaseJars } from '@tidegauge/lab/hbase-jars';
import { AUTHORITIES } from './rootfs.ts';

// The inputs of images from this machine: its Node, its npm, and the sources of its packages.

const run = promisify(execFile);

/** Fills a context with the Node of this process, the npm of this machine, and the registry of that npm. */
export async function fillNode(context: string): Promise<void> {
  const npm = await findProgram('npm', 'npm');
  // …/npm/bin/npm-cli.js
  const folder = dirname(dirname(await realpath(npm)));
  const { stdout } = await run(npm, ['config', 'get', 'registry']);
  await copyFile(process.execPath, join(context, 'node'));
  const isProgram = (path: string): boolean => !/^\/(docs|man)(\/|$)/.test(path.slice(folder.length));
  await cp(folder, join(context, 'npm'), { recursive: true, filter: isProgram });
  await writeFile(join(context, 'npmrc'), `registry=${stdout.trim()}\ncafile=${AUTHORITIES}\n`);
}

/** Fills a context with the package index of this machine's pip. */
export async function fillPython(context: string): Promise<void> {
  const { stdout } = await run('python3', ['-m', 'pip', 'config', 'list']);
  const [, index] = /^\S*\.index-url='(.*)'$/m.exec(stdout) ?? [];
  const lines = [
    '[global]',
    `cert = ${AUTHORITIES}`,
    ...(index === undefined ? [] : [`index-url = ${index}`]),
  ];
  await writeFile(join(context, 'pip.conf'), `${lines.join('\n')}\n`);
}

/** Adds the npm package to a context that has the folder of the image at its place in the project. */
export async function fillStart(folder: string): Promise<void> {
  // The compiler of TypeScript, which it loads, is large.
  const { buildPackage } = await import('../../../scripts/package/build-package.ts');
  await buildPackage(join(folder, '../../../dist/npm'));
}

/** Fills a context with Cassandra's jars, as the lab runs them. */
export async function fillCassandra(context: string): Promise<void> {
  await cp(await cassandraJars(), join(context, 'lib'), { recursive: true });
}

/** Fills a context with HBase's jars, as the lab runs them. The image uses only those of its list. */
export async function fillHbase(context: string): Promise<void> {
  const isWanted = (path: string): boolean => !path.endsWith('.xml');
  await cp(await hbaseJars('2.6.1'), context, { recursive: true, filter: isWanted });
}
