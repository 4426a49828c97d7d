import type { Random } from '@tidegauge/workload';
import { ModelFile } from './model-file.ts';
import { Folder } from './model-folder.ts';
import type { VirtualTime } from './virtual-time.ts';

/** An open file, or an open folder. */
interface Open {
  readonly kind: 'file' | 'folder';
  readonly target: ModelFile | Folder;
  /** For the trace. */
  readonly name: string;
  position: number;
}

/** The folder that exists on a new disk. All paths on the disk begin with it. */
export const DATA = '/simulated/data';
/** Descriptors of this disk are larger than those of real files. */
const FIRST_DESCRIPTOR = 1_000_000;
/** The longest time of an operation, and of a sync, milliseconds. Some syncs take far longer, as on an SD card. */
const OPERATION_MS = 0.5;
const SYNC_MS = 20;
const SLOW_SYNC_MS = 2000;

/**
 * A disk with a page cache: what is not synced survives the end of a process, and not a power cut. It can be full, and its
 * syncs can fail. After a power cut, a new folder can be gone until the one that it is in is synced.
 */
export class Disk {
  /** Called before each operation. */
  onOperation: (what: string) => void = () => {};
  /** The process has been killed at an operation: this one and the following ones have no effect. */
  isFrozen = false;
  /** Bytes that files can grow. */
  free = Number.POSITIVE_INFINITY;
  failsSync = false;
  /** Whether a sync has an effect. A mutant has another one. */
  syncs: (kind: Open['kind'], name: string) => boolean = () => true;
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #folders = new Map<string, Folder>();
  /** Where folders are whose names are not synced, by path. */
  readonly #made = new Map<string, Folder>();
  readonly #open = new Map<number, Open>();
  #next = FIRST_DESCRIPTOR;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
    this.#folders.set(DATA, new Folder());
  }

  has(path: unknown): path is string {
    return typeof path === 'string' && path.startsWith(DATA);
  }

  hasDescriptor(descriptor: unknown): descriptor is number {
    return typeof descriptor === 'number' && descriptor >= FIRST_DESCRIPTOR;
  }

  /** Performs an operation after some time. */
  later<T>(work: () => T, ms = OPERATION_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#time.after(this.#random.double() * ms, this.#time.owner, 'disk', () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Closes the files of a process that has ended. */
  endProcess(): void {
    this.#open.clear();
    this.isFrozen = false;
  }

  cutPower(): void {
    for (const path of this.#made.keys()) if (this.#random.below(2) === 0) this.#folders.delete(path);
    this.#made.clear();
    // A folder is gone with the one that it is in.
    for (const path of this.#folders.keys())
      if (path !== DATA && !this.#folders.has(folderOf(path))) this.#folders.delete(path);
    const files = new Set<ModelFile>();
    for (const folder of this.#folders.values()) {
      folder.cutPower(this.#random);
      for (const file of folder.names.values()) files.add(file);
    }
    for (const file of files) file.cutPower(this.#random);
  }

  /** Bytes of the files in a folder. */
  bytesIn(path: string): number {
    const folder = this.#folders.get(path);
    return folder === undefined ? 0 : [...folder.names.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** Makes a folder and those that it is in. Returns the path of the first one that is new. */
  makeFolder(path: string): string | undefined {
    if (this.#folders.has(path) || this.isFrozen) return undefined;
    const parent = folderOf(path);
    const first = this.makeFolder(parent) ?? path;
    this.#made.set(path, this.#folder(parent));
    this.#folders.set(path, new Folder());
    return first;
  }

  list(path: string): string[] {
    return [...this.#folder(path).names.keys()].toSorted();
  }

  exists(path: string): boolean {
    return this.#folders.has(path) || this.#find(path) !== undefined;
  }

  open(path: string, flags = 'r'): number {
    this.#begin(`open ${flags}`, path);
    const descriptor = this.#next++;
    const folder = this.#folders.get(path);
    const target = folder ?? this.#openFile(path, flags);
    this.#open.set(descriptor, {
      kind: folder === undefined ? 'file' : 'folder',
      target,
      name: shown(path),
      position: 0,
    });
    return descriptor;
  }

  close(descriptor: number): void {
    if (!this.#open.delete(descriptor) && !this.isFrozen) throw failure('EBADF', 'close');
  }

  /** Reads from the position of the descriptor on. Returns the number of bytes. */
  read(descriptor: number, target: Uint8Array): number {
    const open = this.#opened(descriptor);
    const { bytes } = fileOf(open);
    const part = bytes.subarray(open.position, open.position + target.length);
    target.set(part);
    open.position += part.length;
    return part.length;
  }

  /**
   * Writes at a position, or at that of the descriptor. A disk that becomes full takes a part first.
   *
   * @returns the number of bytes
   */
  write(descriptor: number, data: Uint8Array, at: number | null): number {
    const open = this.#opened(descriptor);
    const isAlive = this.#begin(`write ${data.length}`, open.name);
    const file = fileOf(open);
    const from = at ?? open.position;
    const room = Math.max(0, file.length - from) + this.free;
    const taken = data.subarray(0, Math.min(data.length, room));
    if (taken.length === 0 && data.length > 0) throw failure('ENOSPC', 'write');
    if (isAlive) {
      this.free -= Math.max(0, from + taken.length - file.length);
      file.write(from, taken);
    }
    if (at === null) open.position += taken.length;
    return taken.length;
  }

  truncate(descriptor: number, length: number): void {
    const open = this.#opened(descriptor);
    if (this.#begin(`truncate ${length}`, open.name)) fileOf(open).truncate(length);
  }

  /** @throws EIO while syncs fail; what was not synced is then lost at the next power cut */
  sync(descriptor: number): void {
    this.#beginSync(descriptor)();
  }

  syncLater(descriptor: number): Promise<void> {
    const end = this.#beginSync(descriptor);
    return this.later(end, this.#random.below(50) === 0 ? SLOW_SYNC_MS : SYNC_MS);
  }

  readFile(path: string): Buffer {
    this.#begin('read', path);
    return Buffer.from(this.#found(path).bytes);
  }

  writeFile(path: string, data: Uint8Array): void {
    const descriptor = this.open(path, 'w');
    try {
      for (let written = 0; written < data.length; )
        written += this.write(descriptor, data.subarray(written), null);
    } finally {
      this.close(descriptor);
    }
  }

  rename(from: string, to: string): void {
    if (!this.#begin('rename', from)) return;
    const file = this.#found(from);
    this.#folder(folderOf(from)).change([
      [nameOf(to), file],
      [nameOf(from), null],
    ]);
  }

  remove(path: string): void {
    if (!this.#begin('remove', path)) return;
    this.#found(path);
    this.#folder(folderOf(path)).change([[nameOf(path), null]]);
  }

  #beginSync(descriptor: number): () => void {
    const { target, kind, name } = this.#opened(descriptor);
    const isAlive = this.#begin('sync', name);
    if (this.failsSync) {
      if (isAlive && target instanceof ModelFile) target.loseUnsynced();
      return () => {
        throw failure('EIO', 'fsync');
      };
    }
    const end = target.beginSync();
    return () => {
      if (!isAlive || this.isFrozen || !this.syncs(kind, name)) return;
      end();
      for (const [path, parent] of this.#made) if (parent === target) this.#made.delete(path);
    };
  }

  #openFile(path: string, flags: string): ModelFile {
    const known = this.#find(path);
    if (flags === 'r' || flags === 'r+') return known ?? this.#found(path);
    if (flags === 'wx' && known !== undefined) throw failure('EEXIST', 'open');
    const folder = this.#folder(folderOf(path));
    if (known !== undefined) {
      if (!this.isFrozen) known.truncate(0);
      return known;
    }
    const file = new ModelFile();
    if (!this.isFrozen) folder.change([[nameOf(path), file]]);
    return file;
  }

  /** Returns false when the operation has no effect. */
  #begin(what: string, path: string): boolean {
    this.onOperation(`${what} ${shown(path)}`);
    return !this.isFrozen;
  }

  #opened(descriptor: number): Open {
    const open = this.#open.get(descriptor);
    if (open === undefined) throw failure('EBADF', 'use');
    return open;
  }

  #folder(path: string): Folder {
    const folder = this.#folders.get(path);
    if (folder === undefined) throw failure('ENOENT', path);
    return folder;
  }

  #find(path: string): ModelFile | undefined {
    return this.#folders.get(folderOf(path))?.names.get(nameOf(path));
  }

  #found(path: string): ModelFile {
    const file = this.#find(path);
    if (file === undefined) throw failure('ENOENT', path);
    return file;
  }
}

function fileOf({ target }: Open): ModelFile {
  if (target instanceof ModelFile) return target;
  throw failure('EISDIR', 'use');
}

function failure(code: string, what: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** A path for the trace, which must not contain the id of the process. */
function shown(path: string): string {
  return nameOf(path).replace(/\.\d+\.new$/, '.new');
}
