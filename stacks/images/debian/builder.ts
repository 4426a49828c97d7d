import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildOnce } from '@tidegauge/lab/build-once';
import { type Board, type Boards, startBoards } from '@tidegauge/lab/docker/boards';
import { temporaryDirectory } from '@tidegauge/lab/server-process';
import { IMAGES, type ImageName } from './images.ts';
import { FOLDERS, keyOf, ROOT, rootKey } from './inputs.ts';
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
    const { folder, base, targets, fill } = IMAGES[name];
    const board = await this.#board();
    const parent = await this.#build(base ?? 'root');
    process.stderr.write(`Building the image ${name} (once for this state of its sources)...\n`);
    const dockerfile = join(FOLDERS, folder, 'Dockerfile');
    const args = ['--build-arg', `BASE_IMAGE=${parent}`, '--file'];
    const run = (tag: string, ...more: string[]) =>
      board.docker(['build', '--quiet', '--tag', tag, ...args, ...more], {
        env: { DOCKER_BUILDKIT: '0' },
        timeoutMs: BUILD_MS,
      });
    const tags = tagsOf(name);
    if (targets !== undefined) {
      for (const [index, target] of targets.entries()) {
        await run(tags[index]!, dockerfile, '--target', target, ROOT);
      }
    } else {
      const context = temporaryDirectory(`image-${name}`);
      try {
        await cp(join(FOLDERS, folder), context.path, { recursive: true });
        await fill?.(context.path);
        await run(tags[0]!, join(context.path, 'Dockerfile'), context.path);
      } finally {
        context.remove();
      }
    }
    return tags[0]!;
  }
}

/** What an image is called: one name, or one for each target. */
export function tagsOf(name: ImageName): string[] {
  const { targets } = IMAGES[name];
  if (targets === undefined) return [`tidegauge-debian/${name}:${keyOf(name)}`];
  return targets.map((target) => `tidegauge-${target}:${keyOf(name)}`);
}
