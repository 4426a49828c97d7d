import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit } from './at-exit.ts';

/** The owner is in the name: its namespace of process ids, its id, and when it started, in base 36. */
const OWNED = /^tidegauge-.+-([0-9a-z]+)\.([0-9a-z]+)\.([0-9a-z]+)-[A-Za-z0-9]{6}$/;

let isSwept = false;

/**
 * A temporary directory. It is removed by `remove`, or when this process ends. If SIGKILL ends it, the next process that
 * makes a temporary directory removes it. On other systems than Linux, it then stays.
 */
export function temporaryDirectory(name: string): { readonly path: string; remove(): void } {
  if (!isSwept) removeAbandoned();
  isSwept = true;
  const owner = ownerOf(process.pid);
  const mark = owner === null ? '' : `${owner.map((part) => part.toString(36)).join('.')}-`;
  const path = mkdtempSync(join(tmpdir(), `tidegauge-${name}-${mark}`));
  // A server that has just been killed can still be writing.
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  return { path, remove: atExit(remove, { last: true }) };
}

/** Removes the directories of processes that have ended. Those of other users and of other containers stay. */
function removeAbandoned(): void {
  const [namespace] = ownerOf(process.pid) ?? [];
  if (namespace === undefined) return;
  for (const name of readdirSync(tmpdir())) {
    const [, inside, pid, started] = OWNED.exec(name)?.map((part) => Number.parseInt(part, 36)) ?? [];
    if (inside !== namespace || ownerOf(pid!)?.[2] === started) continue;
    const path = join(tmpdir(), name);
    try {
      const { uid } = lstatSync(path);
      if (uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another process removes it too, or a server that has lost its parent still writes.
    }
  }
}

/** The namespace of process ids, the id, and the start in clock ticks since the boot. null: it has ended, or not Linux. */
function ownerOf(pid: number): readonly [namespace: number, pid: number, started: number] | null {
  try {
    const namespace = Number(/\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0]);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, can contain spaces.
    const started = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
    return Number.isSafeInteger(started) ? [namespace, pid, started] : null;
  } catch {
    return null;
  }
}
