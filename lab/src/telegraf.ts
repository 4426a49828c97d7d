import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildOnce } from './build-once.ts';
import { go } from './go.ts';

export const TELEGRAF_VERSION = '1.37.2';
const MODULE = `github.com/influxdata/telegraf@v${TELEGRAF_VERSION}`;

/**
 * Builds Telegraf from its Go module, once for each set of plugins, and resolves to the path of the program. All plugins
 * would take several times as long.
 *
 * @param plugins build tags, such as `inputs.cpu`, `outputs.mqtt` or `serializers.json`
 * @throws {Error} when Go is not installed, or when this process may not build missing programs
 */
export async function buildTelegraf(plugins: readonly string[]): Promise<string> {
  const tags = ['custom', ...plugins.toSorted()].join(',');
  const hash = createHash('sha256').update(tags).digest('hex').slice(0, 12);
  const folder = await buildOnce(`telegraf/v${TELEGRAF_VERSION}-${hash}`, async (directory) => {
    process.stderr.write(`Building Telegraf ${TELEGRAF_VERSION} (once, some minutes)...\n`);
    const { Dir: source } = JSON.parse(await go(['mod', 'download', '-json', MODULE])) as { Dir: string };
    await mkdir(directory);
    const output = join(directory, 'telegraf');
    await go(['build', '-ldflags=-s -w', '-tags', tags, '-o', output, './cmd/telegraf'], { cwd: source });
  });
  return join(folder, 'telegraf');
}
