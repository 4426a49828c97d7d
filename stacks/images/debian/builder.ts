import { cp, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '@tidegauge/lab';
import { buildOnce } from '@tidegauge/lab/build-once';
import { type Board, type Boards, startBoards } from '@tidegauge/lab/docker/boards';
import { IMAGES, type ImageName } from './images.ts';
import { contextFiles, FOLDERS, keyOf, ROOT, rootKey } from './inputs.ts';
import { makeRootFileSystem } from './rootfs.ts';

const BUILD_MS = 900_000;
const ARCHIVE = 'image.tar';
/** Another process may still load an image of an older state of the sources. */
const KEEP_MS = 3_600_000;

/** Builds images into the lab's cache, on a separate engine that it starts when there is something to build. */
export class Builder {
  #boards: Promise<Boards> | null = null;
  #root: Promise<string> | null = null;
  readonly #archives = new Map<ImageName, Promise<string>>();
  readonly #present = new Set<ImageName>();

  /** The file with an image for `docker load`. If the cache does not have it, the image and its bases are built. */
  archive(name: ImageName): Promise<string> {
    const known = this.#archives.get(name);
    if (known !== undefined) return known;
    const archive = buildOnce(`images/${name}-${keyOf(name)}`, async (directory) => {
      await mkdir(directory);
      await this.#build(name);
      const board = await this.#board();
      const to = ['--output', join(directory, ARCHIVE)];
      await board.docker(['save', ...to, ...tagsOf(name)], { timeoutMs: BUILD_MS });
      await removeOlder(dirname(directory), name);
    }).then((folder) => join(folder, ARCHIVE));
    this.#archives.set(name, archive);
    return archive;
  }

  async stop(): Promise<void> {
    await (await this.#boards)?.stop();
  }

  async #board(): Promise<Board> {
    this.#boards ??= startBoards(1);
    return (await this.#boards).boards[0]!;
  }

  async #build(name: ImageName): Promise<void> {
    const { base, targets } = IMAGES[name];
    const [board, parent] = await Promise.all([this.#board(), this.#base(base)]);
    process.stderr.write(`Building the image ${name} (once for this state of its sources)...\n`);
    const context = temporaryDirectory(`image-${name}`);
    try {
      const dockerfile = await fillContext(name, context.path);
      for (const [index, tag] of tagsOf(name).entries()) {
        const target = targets === undefined ? [] : ['--target', targets[index]!];
        const options = [
          '--quiet',
          '--tag',
          tag,
          '--file',
          dockerfile,
          '--build-arg',
          `BASE_IMAGE=${parent}`,
        ];
        // Debian's client has no BuildKit.
        const env = { DOCKER_BUILDKIT: '0' };
        await board.docker(['build', ...options, ...target, context.path], { env, timeoutMs: BUILD_MS });
      }
    } finally {
      context.remove();
    }
    this.#present.add(name);
  }

  /** Loads the base image into the engine, and resolves to its tag. */
  async #base(name: ImageName | undefined): Promise<string> {
    if (name === undefined) {
      this.#root ??= this.#importRoot();
      return this.#root;
    }
    const archive = await this.archive(name);
    if (!this.#present.has(name)) {
      await (await this.#board()).docker(['load', '--quiet', '--input', archive], { timeoutMs: BUILD_MS });
    }
    return tagsOf(name)[0]!;
  }

  async #importRoot(): Promise<string> {
    const tag = `tidegauge-debian/root:${rootKey()}`;
    const folder = await buildOnce(`images/root-${rootKey()}`, async (directory) => {
      process.stderr.write('Making a Debian root file system (once, half a minute)...\n');
      await mkdir(directory);
      await makeRootFileSystem(join(directory, 'root.tar'));
      await removeOlder(dirname(directory), 'root');
    });
    const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
    const settings = ['--change', `ENV PATH=${path}`, '--change', 'CMD ["bash"]'];
    const board = await this.#board();
    await board.docker(['import', ...settings, join(folder, 'root.tar'), tag], { timeoutMs: BUILD_MS });
    return tag;
  }
}

async function removeOlder(cache: string, name: string): Promise<void> {
  for (const entry of await readdir(cache)) {
    const path = join(cache, entry);
    if (!new RegExp(`^${name}-[0-9a-f]+$`).test(entry)) continue;
    if ((await stat(path)).mtimeMs < Date.now() - KEEP_MS) await rm(path, { recursive: true, force: true });
  }
}

/** Copies the sources of an image, so that all its targets use the same state. Resolves to its Dockerfile. */
async function fillContext(name: ImageName, context: string): Promise<string> {
  const { folder, sources, fill } = IMAGES[name];
  const place = sources === undefined ? context : join(context, 'stacks/images', folder);
  for (const path of sources === undefined ? [] : contextFiles(sources)) {
    await cp(join(ROOT, path), join(context, path));
  }
  await cp(join(FOLDERS, folder), place, { recursive: true });
  await fill?.(place);
  return join(place, 'Dockerfile');
}

/** The tags of an image: one, or one for each target. */
export function tagsOf(name: ImageName): string[] {
  const { targets } = IMAGES[name];
  if (targets === undefined) return [`tidegauge-debian/${name}:${keyOf(name)}`];
  return targets.map((target) => `tidegauge-${target}:${keyOf(name)}`);
}
