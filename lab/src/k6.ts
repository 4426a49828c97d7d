import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOnce } from './build-once.ts';
import { go } from './go.ts';

const SOURCES = fileURLToPath(new URL('../../loadtests/k6-mqtt/', import.meta.url));

/**
 * The path of k6 with the MQTT module of loadtests/k6-mqtt. k6 is built, with a message, if it is missing or if the
 * module has changed. The first build needs Go, and about three minutes on two slow cores.
 */
export async function buildK6(): Promise<string> {
  const files = globSync('**/*.{go,mod,sum}', { cwd: SOURCES, exclude: ['**/*_test.go'] }).toSorted();
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(SOURCES, file)));
  const name = `k6/v${k6Version()}-${hash.digest('hex').slice(0, 12)}`;
  const directory = await buildOnce(name, async (target) => {
    process.stderr.write(
      `Building k6 v${k6Version()} with loadtests/k6-mqtt (once, about three minutes)...\n`,
    );
    await mkdir(target);
    const build = ['build', '-ldflags=-s -w', '-o', join(target, 'k6'), './cmd/k6'];
    await go(build, { cwd: SOURCES });
  });
  return join(directory, 'k6');
}

/** The version of k6 in go.mod. */
export function k6Version(): string {
  const [, version] = /^\s*go\.k6\.io\/k6 v(\S+)/m.exec(readFileSync(join(SOURCES, 'go.mod'), 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${SOURCES}go.mod does not name a version of k6`);
  return version;
}
