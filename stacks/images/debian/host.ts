import { execFile } from 'node:child_process';
import { copyFile, cp, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cassandraJars } from '@tidegauge/lab/cassandra';
import { findProgram } from '@tidegauge/lab/debian';
import { hbaseJars } from '@tidegauge/lab/hbase-jars';
import { AUTHORITIES } from './rootfs.ts';

// What images take from this machine: its Node, its npm, and where it has packages from.

const run = promisify(execFile);

/** Fills a context with this process's Node, this machine's npm, and that one's registry. */
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

/** Fills a context with where this machine's pip has packages from. */
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

/** Fills a context with Cassandra's jars, as the lab runs them. */
export async function fillCassandra(context: string): Promise<void> {
  await cp(await cassandraJars(), join(context, 'lib'), { recursive: true });
}

/** Fills a context with HBase's jars, as the lab runs them; the image takes none but those of its list. */
export async function fillHbase(context: string): Promise<void> {
  const isWanted = (path: string): boolean => !path.endsWith('.xml');
  await cp(await hbaseJars('2.6.1'), context, { recursive: true, filter: isWanted });
}
