import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { findProgram } from './debian.ts';
import { hbaseJars } from './hbase-jars.ts';
import { compilerOptions } from './jvm.ts';

const SOURCE = fileURLToPath(new URL('../java/HbaseRows.java', import.meta.url));
const LIMITS = { timeoutMs: 120_000, outputBytes: 512 * 2 ** 20 };

export interface JavaRow {
  readonly key: Buffer;
  /** Newest version of each column, in order. */
  readonly cells: readonly { readonly family: string; readonly qualifier: Buffer; readonly value: Buffer }[];
}

/**
 * The rows that HBase's own Java client finds in a table, in its order, as an independent check.
 *
 * @param port ZooKeeper's port on 127.0.0.1
 * @param table `namespace:table`, or only the table for the default namespace
 */
export async function listRows(port: number, table: string): Promise<JavaRow[]> {
  const lines = (await askJava(port, table)).split('\n').slice(0, -1);
  return lines.map((line) => {
    const [key, ...columns] = line.split(' ');
    const cells = columns.map((column) => {
      const [family, qualifier, value] = column.split(/[:=]/).map((hex) => Buffer.from(hex, 'hex'));
      return { family: family!.toString(), qualifier: qualifier!, value: value! };
    });
    return { key: Buffer.from(key!, 'hex'), cells };
  });
}

async function askJava(port: number, table: string): Promise<string> {
  const java = await findProgram('java', 'default-jre-headless');
  const jars = await hbaseJars('2.6.1');
  const source = createHash('sha256')
    .update(await readFile(SOURCE))
    .digest('hex')
    .slice(0, 12);
  const classes = await buildOnce(`hbase/rows-${source}`, async (directory) => {
    const javac = await findProgram('javac', 'default-jdk-headless');
    await mkdir(directory);
    await runProgram(javac, ['-d', directory, '-cp', `${jars}/*`, SOURCE], LIMITS);
  });
  const options = ['-Xmx256m', '-XX:+UseSerialGC', ...compilerOptions(true), '-cp', `${classes}:${jars}/*`];
  const { stdout } = await runProgram(java, [...options, 'HbaseRows', String(port), table], LIMITS);
  return stdout;
}
