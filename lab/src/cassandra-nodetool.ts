import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { JAVA_17 } from './cassandra-conf.ts';
import { compilerOptions } from './jvm.ts';

const USER = 'tidegauge';

/** Access to the administration (JMX) of a node. */
export interface NodeAdmin {
  /** Arguments of the JVM of the node. */
  readonly jvm: readonly string[];
  /**
   * Runs nodetool. Resolves to its output.
   *
   * @throws {ProgramError} after 10 minutes, and when nodetool fails
   */
  nodetool(...command: string[]): Promise<string>;
}

export interface NodeAdminOptions {
  /** The folder of the node, which exists. */
  readonly folder: string;
  readonly java: string;
  readonly jars: string;
  /** On 127.0.0.1. */
  readonly port: number;
  readonly password: string;
}

const LIMITS = { timeoutMs: 600_000 };

/** Opens JMX on loopback, for a user with a password. The same file contains it for the node and for nodetool. */
export async function openAdmin(options: NodeAdminOptions): Promise<NodeAdmin> {
  const { folder, java, jars, port, password } = options;
  const logins = join(folder, 'jmx.password');
  await writeFile(logins, `${USER} ${password}\n`, { mode: 0o600 });
  const client = [
    ...JAVA_17,
    // The start is most of the work.
    ...[...compilerOptions(true), '-XX:+UseSerialGC', '-Xmx64m'],
    // Its history is written there.
    `-Duser.home=${folder}`,
    `-Dlogback.configurationFile=${join(folder, 'logback.xml')}`,
    ...['-cp', `${jars}/*`, 'org.apache.cassandra.tools.NodeTool'],
    ...['-h', '127.0.0.1', '-p', String(port), '-u', USER, '-pwf', logins],
  ];
  return {
    jvm: [
      // Checks of passwords.
      ...['--add-exports', 'java.management/com.sun.jmx.remote.security=ALL-UNNAMED'],
      `-Dcassandra.jmx.local.port=${port}`,
      '-Dcom.sun.management.jmxremote.authenticate=true',
      `-Dcom.sun.management.jmxremote.password.file=${logins}`,
    ],
    nodetool: async (...command) => (await runProgram(java, [...client, ...command], LIMITS)).stdout,
  };
}
