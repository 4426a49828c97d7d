import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildOnce } from './build-once.ts';
import { findProgram } from './debian.ts';
import { runInstaller } from './installer.ts';

/** The version that stacks/monitoring deploys. */
export const JMX_AGENT_VERSION = '1.0.1';

/** Prometheus's JMX exporter as an argument of a JVM: `-javaagent:<jar>=<address>:<port>:<configuration>`. */
export interface JmxAgent {
  /** The JVM's argument. */
  readonly argument: string;
  /** `host:port` for Prometheus to scrape, once the JVM runs. */
  readonly target: string;
}

/** The JMX exporter with a configuration, on a port of loopback. Maven downloads it if it is missing. */
export async function jmxAgent(port: number, configuration: string): Promise<JmxAgent> {
  const target = `127.0.0.1:${port}`;
  return { argument: `-javaagent:${await jar()}=${target}:${configuration}`, target };
}

async function jar(): Promise<string> {
  const directory = await buildOnce(`jmx-agent/${JMX_AGENT_VERSION}`, async (target) => {
    const maven = await findProgram('mvn', 'maven');
    process.stderr.write(`Downloading the JMX exporter ${JMX_AGENT_VERSION} (once, 3 MB)...\n`);
    await mkdir(target);
    await writeFile(join(target, 'pom.xml'), POM);
    const args = ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=.'];
    await runInstaller(`download the JMX exporter ${JMX_AGENT_VERSION}`, maven, args, { cwd: target });
  });
  return join(directory, `jmx_prometheus_javaagent-${JMX_AGENT_VERSION}.jar`);
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidegauge</groupId><artifactId>lab-jmx-agent</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>io.prometheus.jmx</groupId><artifactId>jmx_prometheus_javaagent</artifactId><version>${JMX_AGENT_VERSION}</version></dependency>
  </dependencies>
</project>
`;
