import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { buildPackage } from '../package/build-package.ts';
import { ROOT } from '../setup.js';

/**
 * Writes a repository of add-ons for Home Assistant: the files of `stacks/home-assistant`, and the npm package beside
 * them, because the Supervisor builds the image from this folder alone.
 *
 * @param folder where to write. An earlier one there is replaced.
 * @throws {ConfigError} when the place of the npm package has something else
 */
export async function buildAddOn(folder: string): Promise<void> {
  await buildPackage(join(folder, 'tidegauge', 'package'));
  cpSync(join(ROOT, 'stacks', 'home-assistant'), folder, { recursive: true });
}
