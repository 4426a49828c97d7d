import { Builder, tagsOf } from './builder.ts';
import { IMAGES, type ImageName } from './images.ts';
import { version } from './inputs.ts';

/** A Docker engine that receives images: a board of the lab, or the engine of this machine. */
export interface Engine {
  docker(args: readonly string[], options?: { readonly timeoutMs?: number }): Promise<string>;
}

const LOAD_MS = 300_000;

/**
 * Loads images into an engine, and first builds those that are not in the lab's cache. Calls for several engines can
 * run at once. Resolves to the variables that stack files use for the images. `tidegauge` is all services in Node.
 *
 * @param registry the value of TIDEGAUGE_REGISTRY, as if the images of the project had been pulled from there
 */
export async function buildImages(
  engine: Engine,
  names: readonly ImageName[],
  registry = '',
): Promise<Record<string, string>> {
  const builder = new Builder();
  try {
    const archives = await Promise.all(names.map((name) => builder.archive(name)));
    for (const archive of archives) {
      await engine.docker(['load', '--quiet', '--input', archive], { timeoutMs: LOAD_MS });
    }
    for (const tag of names.filter(isOurs).flatMap(tagsOf)) {
      await engine.docker(['tag', tag, registry + tag.replace(/:.*/, `:${version()}`)]);
    }
  } finally {
    await builder.stop();
  }
  return Object.assign({}, ...names.map((name) => variablesOf(name, registry)));
}

function isOurs(name: ImageName): boolean {
  return IMAGES[name].targets !== undefined;
}

function variablesOf(name: ImageName, registry: string): Record<string, string> {
  if (isOurs(name)) return { TIDEGAUGE_REGISTRY: registry, TIDEGAUGE_VERSION: version() };
  const { variable } = IMAGES[name];
  return variable === undefined ? {} : { [variable]: tagsOf(name)[0]! };
}
