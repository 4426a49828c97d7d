import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
/** `{ file: FILE, name: NAME_0123abcd }` of a stack file. */
const CONFIG = /\{ file: (\S+), name: (\w+)_[0-9a-f]{8} \}/g;

/**
 * The stack files that mount files, by path from this folder. A Docker config cannot be changed, so its name carries
 * a digest of what is in it, and a deploy after a change makes another.
 *
 * @param made text of files that may not be on disk yet, by path from this folder
 */
export function stackFiles(made: ReadonlyMap<string, string>): Map<string, string> {
  const files = globSync(['docker-stack.yml', 'stacks/*.yml', 'stacks/monitoring/*.yml'], {
    cwd: ROOT,
  }).toSorted();
  return new Map(
    files.flatMap((file): [string, string][] => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const named = text.replaceAll(CONFIG, (_, path: string, name: string) => {
        const content = made.get(path.replace(/^dashboards\//, '')) ?? readFileSync(join(ROOT, path), 'utf8');
        return `{ file: ${path}, name: ${name}_${digest(content)} }`;
      });
      return text.search(CONFIG) >= 0 ? [[`../${file}`, named]] : [];
    }),
  );
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
