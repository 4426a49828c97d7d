import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isRunning, type ProcessId, processesWith } from './processes.ts';

/** Environment variable that marks all processes started for one name. Its value is the folder of that name. */
export const MARK = 'TIDEGAUGE_LAB';

const STOP_MS = 60_000;
const POLL_MS = 50;

/** The data of a server in the background, as its supervisor wrote it to a file. */
export interface Note {
  readonly server: string;
  readonly phase: 'starting' | 'ready';
  readonly supervisor: ProcessId;
  readonly connect: Readonly<Record<string, string>>;
}

export interface Background extends Note {
  readonly name: string;
  /** False: its supervisor has ended without cleaning up, for example after SIGKILL. */
  readonly alive: boolean;
}

/**
 * The folder of this user's lab. It contains one folder per name. Other users can enter it, because databases run as
 * other users, but cannot list it, because notes contain passwords.
 * @throws {Error} when another user has created it.
 */
export function labFolder(): string {
  const folder = join(tmpdir(), `tidegauge-lab-${userInfo().uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const { uid } = lstatSync(folder);
  if (uid !== userInfo().uid || !lstatSync(folder).isDirectory()) {
    throw new Error(`${folder} is not a folder of yours: remove it, or set TMPDIR to another place`);
  }
  return folder;
}

/**
 * Reserves a name for a server that this process is about to start. Returns false when the name is in use. The folder
 * is created atomically together with its note, so that two processes cannot reserve the same name.
 */
export function claim(name: string, server: string): boolean {
  const made = mkdtempSync(join(labFolder(), '.claim-'));
  chmodSync(made, 0o711);
  mkdirSync(join(made, 'tmp'));
  // Writable for all, as any temporary folder, because databases that run as other users write to it too.
  chmodSync(join(made, 'tmp'), 0o1777);
  writeNote(made, { server, phase: 'starting', supervisor: identify(process.pid)!, connect: {} });
  try {
    renameSync(made, folderOf(name));
    return true;
  } catch (error) {
    rmSync(made, { recursive: true });
    if (existsSync(folderOf(name))) return false;
    throw error;
  }
}

export function folderOf(name: string): string {
  return join(labFolder(), name);
}

export function logFile(name: string): string {
  return join(folderOf(name), 'log');
}

export function writeNote(folder: string, note: Note): void {
  const file = join(folder, 'note.json');
  writeFileSync(`${file}.new`, JSON.stringify(note), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

export function find(name: string): Background | null {
  try {
    const note = JSON.parse(readFileSync(join(folderOf(name), 'note.json'), 'utf8')) as Note;
    return { ...note, name, alive: isRunning(note.supervisor) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export function findAll(): Background[] {
  const names = readdirSync(labFolder()).filter((name) => !name.startsWith('.'));
  return names.toSorted().flatMap((name) => find(name) ?? []);
}

/** Stops a server and removes its processes and files, even if its supervisor has ended before. */
export async function takeDown({ name, supervisor, alive }: Background): Promise<void> {
  if (alive) process.kill(supervisor.pid, 'SIGTERM');
  for (const deadline = Date.now() + STOP_MS; isRunning(supervisor) && Date.now() < deadline; ) {
    await delay(POLL_MS);
  }
  const folder = folderOf(name);
  for (const deadline = Date.now() + STOP_MS; ; await delay(POLL_MS)) {
    const left = processesWith(MARK, folder);
    if (left.length === 0) break;
    if (Date.now() > deadline) throw new Error(`${name}: processes ${left.join(', ')} do not end`);
    for (const pid of left) killIfThere(pid);
  }
  remove(folder);
}

function remove(folder: string): void {
  // The recursive removal would also delete the files of a mounted file system.
  const mounted = readFileSync('/proc/self/mounts', 'utf8').includes(` ${folder}/`);
  if (mounted) throw new Error(`something is still mounted below ${folder}: unmount it, then remove it`);
  rmSync(folder, { recursive: true, force: true });
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
