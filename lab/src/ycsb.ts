import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { findProgram } from './debian.ts';
import { runInstaller } from './installer.ts';

export const YCSB_VERSION = '0.17.0';
const JDK = 'openjdk-17-jdk-headless';
const TIMEOUT_MS = 600_000;

/** Compiled Java classes that use YCSB. */
export interface YcsbClasses {
  readonly java: string;
  readonly classPath: string;
}

/** Downloads YCSB's core from Maven Central once, and compiles the Java files of a folder against it. */
export async function compileWithYcsb(folder: string): Promise<YcsbClasses> {
  const java = await findProgram('java', JDK);
  const javac = await findProgram('javac', JDK);
  const jars = await buildOnce(`ycsb/${YCSB_VERSION}`, download);
  const sources = (await readdir(folder)).filter((name) => name.endsWith('.java')).toSorted();
  const hash = createHash('sha256');
  for (const source of sources) hash.update(await readFile(join(folder, source)));
  const classPath = join(jars, '*');
  const classes = await buildOnce(`ycsb/classes-${hash.digest('hex').slice(0, 16)}`, async (directory) => {
    await mkdir(directory);
    const files = sources.map((source) => join(folder, source));
    const options = ['-encoding', 'UTF-8', '-cp', classPath, '-d', directory];
    await runProgram(javac, [...options, ...files], { timeoutMs: TIMEOUT_MS });
  });
  return { java, classPath: [classes, classPath].join(delimiter) };
}

async function download(directory: string): Promise<void> {
  const maven = await findProgram('mvn', 'maven');
  process.stderr.write(`Downloading YCSB ${YCSB_VERSION} (once, 3 MB)...\n`);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'pom.xml'), POM);
  const goal = ['dependency:copy-dependencies', '-DoutputDirectory=.', '-DincludeScope=runtime'];
  await runInstaller(`download YCSB ${YCSB_VERSION}`, maven, ['-q', '-B', ...goal], { cwd: directory });
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidegauge</groupId><artifactId>lab-ycsb</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>site.ycsb</groupId><artifactId>core</artifactId><version>${YCSB_VERSION}</version></dependency>
  </dependencies>
</project>
`;
