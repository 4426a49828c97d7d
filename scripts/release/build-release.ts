import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { temporaryDirectory } from '@tidegauge/process';
import { ConfigError } from '@tidegauge/service/program';
import { buildDebian } from '../debian/build-debian.ts';
import { ARCHITECTURES, nodeComponents } from '../debian/node-program.ts';
import { buildAddOn } from '../home-assistant/build-add-on.ts';
import { packFolder } from '../pack-folder.ts';
import { buildPackage } from '../package/build-package.ts';
import { ROOT } from '../setup.js';
import { sourceTime } from '../source-time.ts';
import { npmSbom } from '../supply-chain/sbom.ts';

/** The file with the SHA-256 of all others. Its signature is that of the release. */
export const SUMS = 'SHA256SUMS';

interface ReleaseOptions {
  /** A folder. An earlier release there is replaced. */
  readonly out: string;
  /** Larger Debian packages in a few seconds, for tests. */
  readonly quick?: boolean;
}

/**
 * Writes the files of a release: the npm package, the Debian packages, the add-on of Home Assistant, a bill of materials
 * (CycloneDX) of what is in them, and checksums. The same commit, Node and npm give the same bytes.
 *
 * @throws {ConfigError} when the folder has something else
 */
export async function buildRelease({ out, quick = false }: ReleaseOptions): Promise<void> {
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(join(out, SUMS)))
    throw new ConfigError([`--output ${out} is no release of an earlier run: name another folder`]);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const time = await sourceTime();
  const work = temporaryDirectory('release');
  try {
    // npm requires this name inside.
    const built = join(work.path, 'package');
    await buildPackage(built);
    await packFolder(built, join(out, `tidegauge-${version}.tgz`), time);
    const sbom = await npmSbom(built);
    const all = { ...sbom, components: [...sbom.components, ...nodeComponents()] };
    writeFileSync(join(out, `tidegauge-${version}.cdx.json`), `${JSON.stringify(all, null, 2)}\n`);
    for (const architecture of ARCHITECTURES) await buildDebian({ architecture, out, quick });
    const addOn = join(work.path, `tidegauge-home-assistant-${version}`);
    await buildAddOn(addOn);
    await packFolder(addOn, `${join(out, basename(addOn))}.tar.gz`, time);
  } finally {
    work.remove();
  }
  const lines = readdirSync(out)
    .toSorted()
    .map((name) => `${sha256(join(out, name))}  ${name}\n`);
  writeFileSync(join(out, SUMS), lines.join(''));
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
