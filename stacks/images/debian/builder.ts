import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildOnce } from '@tidegauge/lab/build-once';
import { type Board, type Boards, startBoards } from '@tidegauge/lab/docker/boards';
import { temporaryDirectory } from '@tidegauge/lab/server-process';
import { IMAGES, type ImageName } from './images.ts';
import { contextFiles, FOLDERS, keyOf, ROOT, rootKey } from './inputs.ts';
import { makeRootFileSystem } from './rootfs.ts';

const BUILD_MS = 900_000;

/** Builds images on an engine of its own, started when there is something to build. */
export class Builder {
  #boards: Promise<Boards> | null = null;
  readonly #built = new Map<ImageName | 'root', Promise<string>>();

  /** Builds an image, bases first, and writes it to a file that `docker load` reads. */
  async save(name: ImageName, archive: string): Promise<void> {
    const board = await this.#board();
    await this.#build(name);
    await board.docker(['save', '--output', archive, ...tagsOf(name)], { timeoutMs: BUILD_MS });
  }

  async stop(): Promise<void> {
    await (await this.#boards)?.stop();
  }

  async #board(): Promise<Board> {
    this.#boards ??= startBoards(1);
    return (await this.#boards).boards[0]!;
  }

  /** Resolves to the tag that others build on. */
  #build(name: ImageName | 'root'): Promise<string> {
    const known = this.#built.get(name);
    if (known !== undefined) return known;
    const building = name === 'root' ? this.#importRoot() : this.#buildImage(name);
    this.#built.set(name, building);
    return building;
  }

  async #importRoot(): Promise<string> {
    const tag = `tidegauge-debian/root:${rootKey()}`;
    const folder = await buildOnce(`images/root-${rootKey()}`, async (directory) => {
      process.stderr.write('Making a Debian root file system (once, half a minute)...\n');
      await mkdir(directory);
      await makeRootFileSystem(join(directory, 'root.tar'));
    });
    const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
    const settings = ['--change', `ENV PATH=${path}`, '--change', 'CMD ["bash"]'];
    const board = await this.#board();
    await board.docker(['import', ...settings, join(folder, 'root.tar'), tag], { timeoutMs: BUILD_MS });
    return tag;
  }

  async #buildImage(name: ImageName): Promise<string> {
    const { base, targets } = IMAGES[name];
    const board = await this.#board();
    const parent = await this.#build(base ?? 'root');
    process.stderr.write(`Building the image ${name} (once for this state of its sources)...\n`);
    const context = temporaryDirectory(`image-${name}`);
    try {
      const dockerfile = await fillContext(name, context.path);
      const tags = tagsOf(name);
      for (const [index, tag] of tags.entries()) {
        const target = targets === undefined ? [] : ['--target', targets[index]!];
        const base = ['--build-arg', `BASE_IMAGE=${parent}`];
        await board.docker(
          ['build', '--quiet', '--tag', tag, '--file', dockerfile, ...base, ...target, context.path],
          {
            // This engine's client may have no BuildKit.
            env: { DOCKER_BUILDKIT: '0' },
            timeoutMs: BUILD_MS,
          },
        );
      }
      return tags[0]!;
    } finally {
      context.remove();
    }
  }
}

/** Copies what an image is built from, so that all its targets see the same; resolves to its Dockerfile. */
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

/** What an image is called: one name, or one for each target. */
export function tagsOf(name: ImageName): string[] {
  const { targets } = IMAGES[name];
  if (targets === undefined) return [`tidegauge-debian/${name}:${keyOf(name)}`];
  return targets.map((target) => `tidegauge-${target}:${keyOf(name)}`);
}
