import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildOnce } from './build-once.ts';
import { findProgram } from './debian.ts';
import { runInstaller } from './installer.ts';

export type HbaseVersion = '2.6.1' | '2.4.16';

const SERVERS: Readonly<Record<HbaseVersion, string>> = {
  // The build for Hadoop 3. Its client writes to a data node without waiting for its own lease.
  '2.6.1': '2.6.1-hadoop3',
  '2.4.16': '2.4.16',
};

/** The folder with the jars of HBase's servers and its Java client. Maven downloads them if the folder is missing. */
export function hbaseJars(version: HbaseVersion): Promise<string> {
  return jars(`hbase/${version}`, `HBase ${version} (once, 110 MB)`, 'hbase-server', SERVERS[version]);
}

/** The folder with the jars of HBase's Thrift gateway. */
export function thriftJars(): Promise<string> {
  return jars(
    'hbase/thrift-2.6.1',
    'the Thrift gateway of HBase 2.6.1 (once, 110 MB)',
    'hbase-thrift',
    '2.6.1',
  );
}

function jars(cached: string, what: string, artifact: string, version: string): Promise<string> {
  return buildOnce(cached, async (directory) => {
    const maven = await findProgram('mvn', 'maven');
    process.stderr.write(`Downloading ${what}...\n`);
    await mkdir(directory);
    await writeFile(join(directory, 'pom.xml'), pom(artifact, version));
    const args = [
      '-q',
      '-B',
      'dependency:copy-dependencies',
      '-DoutputDirectory=.',
      '-DincludeScope=runtime',
    ];
    await runInstaller(`download ${cached}`, maven, args, { cwd: directory });
  });
}

function pom(artifact: string, version: string): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidegauge</groupId><artifactId>lab-hbase</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.hbase</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>
  </dependencies>
</project>
`;
}
