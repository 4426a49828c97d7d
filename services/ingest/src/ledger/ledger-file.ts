import {
  closeSync,
  copyFileSync,
  existsSync,
  fdatasync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { now } from '@tidegauge/readings';
import type { Logger } from '@tidegauge/service';
import { DeviceShares } from '../device-shares.ts';
import { syncDirectory } from '../replace-file.ts';
import { isLateClient, type Late, lateClientOf } from './late.ts';
import { jsonEntry, KIND, NumbersEntry } from './ledger-entries.ts';
import { FORMAT, LedgerDamaged, type LedgerRecord, readLedger } from './read-ledger.ts';
import { type DeviceState, type Journal, SequenceLedger } from './sequence-ledger.ts';

/** The longest time between two syncs of a file with new entries. */
const SYNC_MS = 60_000;
/** Entries after the state from which the file is written again, unless the state is larger. */
const LEAST_ENTRY_BYTES = 4 * 1024 * 1024;
/** Memory for numbers that are not written yet. */
const NUMBERS_BYTES = 64 * 1024;
/** Devices that are written in one turn of the event loop: a few milliseconds. */
const DEVICES_AT_ONCE = 1000;
/** How much older than its recording a reading usually is at most, microseconds. */
export const USUAL_DELAY_US = 3_600_000_000;
/**
 * Late devices that are kept, each with about 500 bytes; a client has as many as are free. All others of a client are kept as
 * one. With as many such clients, the store is searched from an earlier time on for all.
 */
const MOST_LATE = 1000;
const DAY_US = 86_400_000_000;
/** While numbers are recorded, the file has the time at least this often, microseconds. */
const TIME_EVERY_US = 5_000_000;
/** A file that is older than this was not used for some time, microseconds. */
const UNUSED_US = 15_000_000;
/** How much earlier than the last time in the file the search in the store begins then, microseconds. */
const OVERLAP_US = 60_000_000;

const datasync = promisify(fdatasync);

/** How the recorded numbers must be completed after the previous process. */
export interface Recovery {
  /**
   * Numbers of readings with a time from here on, microseconds since the epoch, may have been stored without being
   * recorded. Null: all that was stored is recorded.
   */
  readonly checkFrom: number | null;
  /** The same for devices whose readings were older. */
  readonly late: Late;
  /** Whether numbers that are not in the store cannot be judged, because the file was not complete. */
  readonly isIncomplete: boolean;
  /**
   * Whether the file has all numbers of its process, and another one may have stored readings since: ingest can have run
   * on another board, with another file.
   */
  readonly wasUnused: boolean;
}

const NOTHING: Recovery = { checkFrom: null, late: new Map(), isIncomplete: false, wasUnused: false };

/** A device with late readings, or such devices of a client. */
interface LateDevice {
  /** No reading of it since is older, microseconds since the epoch. */
  readonly from: number;
  /** Whether it sent one since the last sync. */
  isActive: boolean;
}

/** A file that is being written. */
interface Output {
  readonly descriptor: number;
  bytes: number;
}

/**
 * Keeps a sequence ledger in a file, so that it survives a restart. The file begins with the state of all devices.
 * The numbers of each batch are appended before the batch is acknowledged, without a sync: the kernel has them when
 * the process is killed. A sync follows once a minute, and before the acknowledgement when a device is new, or its
 * readings are older than usual. So after a power cut the numbers of the last minute can be lost, although their readings
 * are in the store, but no device. The file has the times from which on the store must be searched for them, and the boot
 * of the kernel. If that is not the present one, `recover` reports these times.
 *
 * When the entries after the state have 4 MiB, or as many bytes as the state, a new file with the present state
 * replaces the file. If the file cannot be written, it is renamed to `….incomplete`, and numbers are not kept until a
 * new file can be written. The store then has to be compared after a crash too.
 */
export class LedgerFile implements Journal {
  #ledger = new SequenceLedger();
  readonly #file: string;
  readonly #logger: Logger;
  readonly #kernel: string | null;
  readonly #numbers = new NumbersEntry(NUMBERS_BYTES);
  #floor = 0;
  readonly #late = new Map<string, LateDevice>();
  readonly #lateShares = new DeviceShares(MOST_LATE);
  /** Whether `#late` or `#floor` cover older readings than the file. */
  #hasNewLate = false;
  /** As `checkFrom` of a recovery that is not completed yet. */
  #uncheckedFrom: number | null = null;
  /** The id of the next new device. */
  #nextId = 0;
  /** Whether numbers that are not written yet have a new device. */
  #hasNewDevice = false;
  /** The last time in the file. */
  #noted = 0;
  #waiting: Buffer[] = [];
  #output: Output | null = null;
  #stateBytes = 0;
  /** The file that will replace the present one, while its state is written. */
  #next: Output | null = null;
  #synced = 0;
  #timer: NodeJS.Timeout | null = null;
  #work: Promise<void> = Promise.resolve();
  #trouble: string | null = null;
  /** Whether the new name of a file that lacks numbers is synced. */
  #isNameSynced = true;

  /** @param kernel the boot of the kernel; null: not known */
  constructor(file: string, logger: Logger, kernel: string | null = kernelBoot()) {
    this.#file = file;
    this.#logger = logger;
    this.#kernel = kernel;
  }

  /** The ledger. `recover` may replace it. */
  get ledger(): SequenceLedger {
    return this.#ledger;
  }

  /** Why the ledger cannot be kept now; null when it can. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /**
   * Reads the file of an earlier process into the ledger. A file that cannot be read is kept as `….damaged`, and the
   * ledger begins again. Call it first, and then `start`.
   */
  recover(): Recovery {
    const isIncomplete = !existsSync(this.#file) && existsSync(this.#incomplete);
    const file = isIncomplete ? this.#incomplete : this.#file;
    this.#ledger.isPartial = isIncomplete || !existsSync(file);
    if (!existsSync(file)) return NOTHING;
    let found: LedgerRecord;
    try {
      found = readLedger(file, this.#ledger);
    } catch (error) {
      if (!(error instanceof LedgerDamaged)) throw error;
      const kept = `${this.#file}.damaged`;
      renameSync(file, kept);
      this.#ledger = new SequenceLedger();
      this.#ledger.isPartial = true;
      this.#logger.error(
        { file: kept, reason: error.message },
        'the ledger of sequence numbers cannot be read: it begins again, and this file is kept',
      );
      return NOTHING;
    }
    if (found.torn > 0) {
      const kept = `${this.#file}.damaged`;
      copyFileSync(file, kept);
      this.#logger.warn(
        { file: kept, bytes: found.torn },
        'the end of the ledger of sequence numbers is torn or damaged: the store is compared with the rest, and this file is kept',
      );
    }
    const isKilled = this.#kernel !== null && found.kernel === this.#kernel && found.torn === 0;
    const isComplete = !isIncomplete && (found.isClosed || isKilled);
    const { uncheckedFrom } = found;
    if (!isComplete) {
      const { late } = found;
      return { checkFrom: checkFromOf(found, isIncomplete), late, isIncomplete, wasUnused: false };
    }
    if (uncheckedFrom !== null) return { ...NOTHING, checkFrom: uncheckedFrom };
    if (now() - found.at < UNUSED_US) return NOTHING;
    return { ...NOTHING, checkFrom: found.at - OVERLAP_US, wasUnused: true };
  }

  /**
   * Writes a new file with the state of the ledger, and keeps all further numbers.
   *
   * @param uncheckedFrom the `checkFrom` of the recovery, if the store has yet to be compared. Null: the ledger is complete
   * @throws {Error} when it cannot be written
   */
  start(uncheckedFrom: number | null = null): void {
    this.#uncheckedFrom = uncheckedFrom;
    this.#ledger.isUnchecked = uncheckedFrom !== null;
    this.#touch();
    const output = this.#create();
    try {
      const states = this.#ledger.states();
      while (!this.#pushStates(output, states));
      fsyncSync(output.descriptor);
      this.#replace(output);
    } catch (error) {
      closeSync(output.descriptor);
      throw error;
    }
    this.#nextId = this.#ledger.totals().nextId;
    this.#ledger.journal = this;
    this.#timer = setInterval(() => void this.sync(), SYNC_MS);
    this.#timer.unref();
  }

  /** Has the file written again, now that the store was compared. */
  checked(): void {
    this.#uncheckedFrom = null;
    this.#ledger.isUnchecked = false;
    this.#renew();
  }

  number(id: number, seq: number): void {
    if (this.#numbers.isFull) this.#collect();
    this.#numbers.add(id, seq);
  }

  named(id: number, device: string, boot: string, seq: number, isAgain: boolean): void {
    this.#collect();
    this.#waiting.push(jsonEntry(KIND.named, [id, device, boot, seq, ...(isAgain ? [1] : [])]));
    if (id < this.#nextId) return;
    this.#nextId = id + 1;
    this.#hasNewDevice = true;
  }

  gone(device: string, boot: string, from: number): void {
    this.#collect();
    this.#waiting.push(jsonEntry(KIND.gone, [device, boot, from]));
  }

  /**
   * Writes the numbers that were recorded since the last call. Call it before they are acknowledged.
   *
   * @param oldest the least time of their readings, microseconds since the epoch, without those of `late`
   * @param late the least time of the late readings of each device
   */
  flush(oldest: number, late: Late = new Map()): void {
    this.#collect();
    for (const [device, time] of late) if (time < this.#floor) this.#noteLate(device, time);
    if (oldest < this.#floor) this.#lowerFloor(searchedFrom(oldest));
    if (this.#waiting.length === 0 && !this.#hasNewLate) return;
    // After a power cut, the store is searched for devices that the file has, from the times on that it has.
    const isSynced = this.#hasNewLate || this.#hasNewDevice;
    const isDue = this.#hasNewLate || now() - this.#noted > TIME_EVERY_US;
    this.#hasNewLate = false;
    this.#hasNewDevice = false;
    const data = Buffer.concat(isDue ? [this.#time(), ...this.#waiting] : this.#waiting);
    this.#waiting = [];
    this.#write(data, isSynced);
    const { bytes } = this.#output ?? { bytes: 0 };
    if (bytes - this.#stateBytes > Math.max(LEAST_ENTRY_BYTES, this.#stateBytes)) this.#renew();
  }

  /** Syncs the file to its disk. Does not throw. */
  async sync(): Promise<void> {
    if (this.#output === null) return this.#renew();
    const { descriptor, bytes } = this.#output;
    if (bytes === this.#synced || this.#next !== null) return;
    this.#touch();
    this.#write(this.#timeAndLate());
    this.#synced = this.#output?.bytes ?? 0;
    await datasync(descriptor).catch((error: NodeJS.ErrnoException) => {
      if (this.#output?.descriptor === descriptor) this.#fail(error);
    });
  }

  /** Marks the file as complete and closes it. Nothing may be recorded afterwards. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#ledger.journal = null;
    await this.#work;
    this.#collect();
    const data = Buffer.concat([...this.#waiting, this.#time(), jsonEntry(KIND.closed, {})]);
    this.#waiting = [];
    this.#write(data, true);
    if (this.#output !== null) closeSync(this.#output.descriptor);
    this.#output = null;
  }

  get #incomplete(): string {
    return `${this.#file}.incomplete`;
  }

  #collect(): void {
    const entry = this.#numbers.take();
    if (entry !== null) this.#waiting.push(entry);
  }

  /** Takes the present time. Devices that were not late since the last call are no longer late. */
  #touch(): void {
    const at = now();
    this.#floor = at - USUAL_DELAY_US;
    this.#ledger.today = Math.floor(at / DAY_US);
    for (const [name, late] of this.#late) {
      if (!late.isActive) {
        this.#late.delete(name);
        if (!isLateClient(name)) this.#lateShares.add(name, -1);
      }
      late.isActive = false;
    }
  }

  #noteLate(device: string, oldest: number): void {
    const isOwn = this.#late.has(device) || this.#lateShares.hasRoom(device, 1);
    const name = isOwn ? device : lateClientOf(device);
    const known = this.#late.get(name);
    if (known !== undefined && oldest >= known.from) {
      known.isActive = true;
      return;
    }
    const from = searchedFrom(oldest);
    if (known === undefined && this.#late.size === 2 * MOST_LATE) {
      this.#lowerFloor(from);
      return;
    }
    if (known === undefined && isOwn) this.#lateShares.add(device, 1);
    this.#late.set(name, { from, isActive: true });
    this.#waiting.push(jsonEntry(KIND.late, [name, from]));
    this.#hasNewLate = true;
  }

  #lowerFloor(from: number): void {
    this.#floor = Math.min(this.#floor, from);
    this.#hasNewLate = true;
  }

  #time(more: object = {}): Buffer {
    this.#noted = now();
    return jsonEntry(KIND.time, { at: this.#noted, floor: this.#floor, ...more });
  }

  #timeAndLate(): Buffer {
    return this.#time({ late: [...this.#late].map(([device, { from }]) => [device, from]) });
  }

  /** Opens the file that will replace the present one, and writes its beginning. */
  #create(): Output {
    const output = { descriptor: openSync(`${this.#file}.new`, 'w', 0o600), bytes: 0 };
    try {
      this.#push(output, jsonEntry(KIND.header, { format: FORMAT }));
      this.#push(output, jsonEntry(KIND.process, { boot: this.#kernel, uncheckedFrom: this.#uncheckedFrom }));
      this.#push(output, this.#timeAndLate());
    } catch (error) {
      closeSync(output.descriptor);
      throw error;
    }
    return output;
  }

  /** Replaces the present file by one that is complete and synced. */
  #replace(output: Output): void {
    renameSync(`${this.#file}.new`, this.#file);
    syncDirectory(dirname(this.#file));
    rmSync(this.#incomplete, { force: true });
    this.#isNameSynced = true;
    if (this.#output !== null) closeSync(this.#output.descriptor);
    this.#output = output;
    this.#stateBytes = output.bytes;
    this.#synced = output.bytes;
  }

  #push(output: Output, data: Buffer): void {
    for (let written = 0; written < data.length; )
      written += writeSync(output.descriptor, data, written, data.length - written);
    output.bytes += data.length;
  }

  /** Writes the next states of devices. Returns true when all of them, and the totals, are written. */
  #pushStates(output: Output, states: Iterator<DeviceState>): boolean {
    const entries: Buffer[] = [];
    let isDone = false;
    while (entries.length < DEVICES_AT_ONCE && !isDone) {
      const { value, done } = states.next();
      isDone = done === true;
      entries.push(isDone ? jsonEntry(KIND.totals, this.#ledger.totals()) : jsonEntry(KIND.device, value));
    }
    this.#push(output, Buffer.concat(entries));
    return isDone;
  }

  #write(data: Buffer, synced = false): void {
    try {
      if (this.#next !== null) this.#push(this.#next, data);
    } catch (error) {
      this.#abandon(error as NodeJS.ErrnoException);
    }
    if (this.#output === null) {
      this.#syncName();
      return;
    }
    try {
      this.#push(this.#output, data);
      if (synced) fsyncSync(this.#output.descriptor);
    } catch (error) {
      this.#fail(error as NodeJS.ErrnoException);
    }
  }

  /** Stops writing to a file that lacks numbers from now on. */
  #fail(error: Error): void {
    const { descriptor } = this.#output!;
    this.#output = null;
    this.#report(error);
    try {
      renameSync(this.#file, this.#incomplete);
      closeSync(descriptor);
    } catch (failure) {
      this.#logger.error({ err: failure }, 'the file of the ledger cannot be renamed');
      return;
    }
    this.#isNameSynced = false;
    this.#syncName();
  }

  /** Before numbers that the file lacks are acknowledged: a power cut must not bring back its old name. */
  #syncName(): void {
    if (this.#isNameSynced) return;
    try {
      syncDirectory(dirname(this.#file));
      this.#isNameSynced = true;
    } catch {
      // A disk that fails was reported, and the next write tries again.
    }
  }

  #report(error: Error): void {
    if (this.#trouble === null)
      this.#logger.error({ err: error }, 'the ledger of sequence numbers cannot be kept, retrying');
    this.#trouble = `the ledger cannot be written: ${error.message}`;
  }

  #abandon(error: Error): void {
    const { descriptor } = this.#next!;
    this.#next = null;
    this.#report(error);
    closeSync(descriptor);
  }

  /** Starts to write a new file, unless one is being written. */
  #renew(): void {
    if (this.#next !== null) return;
    this.#work = this.#rewrite().catch((error: Error) => {
      if (this.#next === null) this.#report(error);
      else this.#abandon(error);
    });
  }

  async #rewrite(): Promise<void> {
    this.#touch();
    const output = this.#create();
    this.#next = output;
    const states = this.#ledger.states();
    for (let isDone = false; !isDone && this.#next === output; await nextTurn()) {
      // A state includes the numbers that wait. They must not follow it.
      this.flush(Number.POSITIVE_INFINITY);
      isDone = this.#pushStates(output, states);
    }
    if (this.#next !== output) return;
    const { bytes } = output;
    await datasync(output.descriptor);
    if (this.#next !== output) return;
    // What was added meanwhile was synced in the old file only. It can be a new device.
    if (output.bytes > bytes) fsyncSync(output.descriptor);
    this.#next = null;
    this.#replace(output);
    if (this.#trouble !== null) this.#logger.info('the ledger of sequence numbers is kept again');
    this.#trouble = null;
  }
}

/** From when on the store is searched for a late reading. Eight times its age leaves room for those that follow it. */
function searchedFrom(oldest: number): number {
  return Math.max(0, Math.floor(oldest - 7 * Math.max(0, now() - oldest)));
}

/** From when on the store is compared with a file that lacks numbers. */
function checkFromOf({ floor, uncheckedFrom }: LedgerRecord, isIncomplete: boolean): number {
  // While the file could not be written, it did not get the times of late readings.
  const from = isIncomplete ? floor - DAY_US : floor;
  return Math.max(0, Math.min(from, uncheckedFrom ?? Number.POSITIVE_INFINITY));
}

/** The boot of this machine's kernel: random(4). Null where it is not known. */
function kernelBoot(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}
