import crypto from 'node:crypto';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import zlib from 'node:zlib';
import type { Disk } from './disk.ts';
import { Timer, type VirtualTime } from './virtual-time.ts';

// Replaces what ingest uses of Node: clocks, timers, randomness, the file system and `fetch`. Import this module before those of
// ingest, some of which take a function when they are loaded. Outside of a world, and for other files, all functions are
// Node's.

export interface World {
  readonly time: VirtualTime;
  /** The disk of the process whose code runs. */
  readonly disk: () => Disk;
  /** From 0 to 1, without 1. */
  readonly random: () => number;
  /** Absent: Node's function. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** The readings that the store has. It is alone on its disk, and each needs one byte. */
  readonly stored?: () => number;
}

/** The size of the disk of the store, bytes. */
const STORE_DISK = 1_000_000;

/** The free space of the disk of the store with a number of readings, bytes. */
export function freeWith(readings: number): number {
  return STORE_DISK - readings;
}

let world: World | null = null;

/** Uses a world; null: Node's functions. One world can be in use at a time. */
export function useWorld(next: World | null): void {
  world = next;
}

const { setImmediate: realImmediate } = globalThis;

/** A turn of the real event loop: all promises that can be settled are settled afterwards. */
export function realTurn(): Promise<void> {
  return new Promise((resolve) => void realImmediate(resolve));
}

type Call = (...given: never[]) => unknown;
type Run = (...given: unknown[]) => void;

/** Replaces functions of a module or of the global object. */
function replace<T extends object>(target: T, functions: { readonly [K in keyof T]?: Call }): void {
  for (const [name, value] of Object.entries(functions))
    Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: true });
}

/** Calls the disk for its paths and descriptors, and Node's function for others. */
function onDisk<R>(real: (...given: never[]) => R, work: (disk: Disk, ...given: never[]) => unknown): Call {
  return (...given: never[]) => {
    const disk = world?.disk();
    const [first] = given as readonly unknown[];
    const isOnDisk = disk !== undefined && (disk.has(first) || disk.hasDescriptor(first));
    return isOnDisk ? work(disk, ...given) : real(...given);
  };
}

function replaceClocks(): void {
  const realNow = performance.now.bind(performance);
  const realDate = Date.now;
  const realRandom = Math.random;
  replace(performance, { now: () => world?.time.now ?? realNow() });
  replace(Date, { now: () => world?.time.wall ?? realDate() });
  replace(Math, { random: () => world?.random() ?? realRandom() });
}

function replaceCrypto(): void {
  const { randomInt: realInt, randomUUID: realUuid } = crypto;
  replace(crypto, {
    randomInt: ((end: number) => (world === null ? realInt(end) : Math.floor(world.random() * end))) as Call,
    randomUUID: ((options?: object) => (world === null ? realUuid(options) : uuidOf(world.random))) as Call,
  });
}

function uuidOf(random: () => number): string {
  const digits = (count: number) =>
    Array.from({ length: count }, () => Math.floor(random() * 16).toString(16));
  return [8, 4, 4, 4, 12].map((count) => digits(count).join('')).join('-');
}

function replaceTimers(): void {
  const { setTimeout: realTimeout, setInterval: realInterval, clearTimeout: realClear } = globalThis;
  const clear = (timer: unknown) =>
    timer instanceof Timer ? world?.time.cancel(timer) : realClear(timer as NodeJS.Timeout);
  replace(globalThis, {
    setTimeout: (run: Run, ms?: number, ...given: unknown[]) =>
      world?.time.timeout(ms, () => run(...given)) ?? realTimeout(run, ms, ...given),
    setInterval: (run: Run, ms?: number, ...given: unknown[]) =>
      world?.time.interval(ms, () => run(...given)) ?? realInterval(run, ms, ...given),
    setImmediate: (run: Run, ...given: unknown[]) =>
      world?.time.turn(() => run(...given)) ?? realImmediate(run, ...given),
    clearTimeout: clear,
    clearInterval: clear,
  });
  const { setTimeout: realSleep, setImmediate: realNext } = timersPromises;
  replace(timersPromises, {
    setTimeout: (ms: number, value: unknown, options: { readonly signal?: AbortSignal } = {}) =>
      world === null ? realSleep(ms, value, options) : sleep(world.time, ms, value, options.signal),
    setImmediate: (value: unknown) => {
      const time = world?.time;
      return time === undefined
        ? realNext(value)
        : new Promise((resolve) => void time.turn(() => resolve(value)));
    },
  });
}

function sleep(time: VirtualTime, ms: number, value: unknown, signal?: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const refuse = () => reject(new DOMException('The operation was aborted', 'AbortError'));
    if (signal?.aborted) return refuse();
    const onAbort = () => {
      time.cancel(timer);
      refuse();
    };
    const timer = time.timeout(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value);
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function replaceFiles(): void {
  const { statfs: realStatfs } = fsPromises;
  replace(fs, {
    mkdirSync: onDisk(fs.mkdirSync, (disk, path: string) => disk.makeFolder(path)),
    readdirSync: onDisk(fs.readdirSync as Call, (disk, path: string) => disk.list(path)),
    existsSync: onDisk(fs.existsSync, (disk, path: string) => disk.exists(path)),
    openSync: onDisk(fs.openSync, (disk, path: string, flags?: string) => disk.open(path, flags)),
    closeSync: onDisk(fs.closeSync, (disk, descriptor: number) => disk.close(descriptor)),
    readSync: onDisk(fs.readSync as Call, (disk, descriptor: number, target: Uint8Array) =>
      disk.read(descriptor, target),
    ),
    writeSync: onDisk(fs.writeSync as Call, writeSync),
    fsyncSync: onDisk(fs.fsyncSync, (disk, descriptor: number) => disk.sync(descriptor)),
    fdatasync: onDisk(fs.fdatasync, (disk, descriptor: number, done: (error: unknown) => void) => {
      disk.syncLater(descriptor).then(() => done(null), done);
    }),
    readFileSync: onDisk(fs.readFileSync as Call, (disk, path: string, encoding?: BufferEncoding) =>
      encoding === undefined ? disk.readFile(path) : disk.readFile(path).toString(encoding),
    ),
    writeFileSync: onDisk(fs.writeFileSync, writeFileSync),
    truncateSync: onDisk(fs.truncateSync, truncateSync),
    renameSync: onDisk(fs.renameSync, (disk, from: string, to: string) => disk.rename(from, to)),
    copyFileSync: onDisk(fs.copyFileSync, (disk, from: string, to: string) =>
      disk.writeFile(to, disk.readFile(from)),
    ),
    rmSync: onDisk(fs.rmSync, (disk, path: string) => {
      if (disk.exists(path)) disk.remove(path);
    }),
  });
  replace(fsPromises, {
    open: onDisk(fsPromises.open, (disk, path: string, flags?: string) =>
      disk.later(() => new Handle(disk, disk.open(path, flags))),
    ),
    readFile: onDisk(fsPromises.readFile as Call, (disk, path: string) =>
      disk.later(() => disk.readFile(path)),
    ),
    unlink: onDisk(fsPromises.unlink, (disk, path: string) => disk.later(() => disk.remove(path))),
    statfs: ((path: string) =>
      world?.stored === undefined
        ? realStatfs(path)
        : Promise.resolve({ bavail: freeWith(world.stored()), bsize: 1 })) as Call,
  });
}

function replaceNetwork(): void {
  const { fetch: realFetch } = globalThis;
  const realTimeout = AbortSignal.timeout.bind(AbortSignal);
  const realGzip = zlib.gzip as Run;
  replace(globalThis, {
    fetch: (url: string, init: RequestInit) => world?.fetch?.(url, init) ?? realFetch(url, init),
  });
  replace(AbortSignal, {
    timeout: (ms: number) => (world === null ? realTimeout(ms) : abortsAfter(world.time, ms)),
  });
  // The real function works in another thread. The model of the network compresses nothing.
  replace(zlib, {
    gzip: (data: Uint8Array, done: Run) => {
      if (world === null) realGzip(data, done);
      else world.time.turn(() => done(null, data));
    },
  });
}

function abortsAfter(time: VirtualTime, ms: number): AbortSignal {
  const end = new AbortController();
  time.timeout(ms, () => end.abort(new DOMException('The operation timed out', 'TimeoutError')));
  return end.signal;
}

function writeSync(
  disk: Disk,
  descriptor: number,
  data: Uint8Array,
  offset = 0,
  length = data.length,
): number {
  return disk.write(descriptor, data.subarray(offset, offset + length), null);
}

/** To a path or to a descriptor. */
function writeFileSync(disk: Disk, target: string | number, content: string | Uint8Array): void {
  const data = typeof content === 'string' ? Buffer.from(content) : content;
  if (typeof target === 'string') disk.writeFile(target, data);
  else
    for (let written = 0; written < data.length; )
      written += disk.write(target, data.subarray(written), null);
}

function truncateSync(disk: Disk, path: string, length: number): void {
  const descriptor = disk.open(path, 'r+');
  try {
    disk.truncate(descriptor, length);
  } finally {
    disk.close(descriptor);
  }
}

/** A handle of `fs/promises`, with the methods that ingest uses. */
class Handle {
  readonly #disk: Disk;
  readonly #descriptor: number;

  constructor(disk: Disk, descriptor: number) {
    this.#disk = disk;
    this.#descriptor = descriptor;
  }

  write(data: Uint8Array, offset: number, length: number, at: number): Promise<{ bytesWritten: number }> {
    return this.#disk.later(() => ({
      bytesWritten: this.#disk.write(this.#descriptor, data.subarray(offset, offset + length), at),
    }));
  }

  sync(): Promise<void> {
    return this.#disk.syncLater(this.#descriptor);
  }

  datasync(): Promise<void> {
    return this.#disk.syncLater(this.#descriptor);
  }

  truncate(length: number): Promise<void> {
    return this.#disk.later(() => this.#disk.truncate(this.#descriptor, length));
  }

  close(): Promise<void> {
    return this.#disk.later(() => this.#disk.close(this.#descriptor));
  }
}

replaceClocks();
replaceCrypto();
replaceTimers();
replaceFiles();
replaceNetwork();
// Modules that import functions by their names get the new ones too.
syncBuiltinESMExports();
