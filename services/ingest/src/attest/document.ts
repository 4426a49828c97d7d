import { createHash, type KeyObject, sign } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Quality } from '@tidegauge/readings';
import { syncDirectory } from '../replace-file.ts';
import type { Range } from './day-facts.ts';

// A document has one JSON object on each line: a header, a line for each device and day, totals, and a signature.

/** The first line of a document. */
export interface AttestationHeader {
  /** The version of the format. */
  readonly attestation: 1;
  /** Counts the documents of a chain, from 1. */
  readonly number: number;
  /** The `sha256` of the document before; null for the first one. */
  readonly previous: string | null;
  /** When it was made, ISO 8601. */
  readonly made: string;
  /** The public key of its signature, 64 hexadecimal digits. */
  readonly key: string;
  /** The key that signs all later documents. Such a document has no days. */
  readonly nextKey?: string;
  /** The first and the last day, such as 2026-11-23. Null with `nextKey`. */
  readonly from: string | null;
  readonly to: string | null;
  /** Only this device and those below it; null for all. */
  readonly device: string | null;
  /** The identity of the store's data; null if it has none. */
  readonly store: string | null;
  /** When the ledger of sequence numbers began, ISO 8601; null without one. */
  readonly ledger: string | null;
}

export interface AttestedBoot {
  readonly boot: string;
  readonly numbers: readonly Range[] | null;
  readonly late: number | null;
  /** The highest number before the first day, in the first line of the boot. */
  readonly before?: number;
  /** Parts of gaps that end on this day. Absent if empty. */
  readonly missing?: readonly Range[];
  readonly arrived?: readonly Range[];
  readonly unjudged?: readonly Range[];
}

/** A day of a device. Without readings it has `count` 0, and no further figures of readings. */
export interface AttestedDay {
  readonly device: string;
  readonly day: string;
  readonly count: number;
  /** 64 hexadecimal digits; empty without readings. */
  readonly digest: string;
  readonly times?: readonly [string, string];
  readonly received?: readonly [string, string];
  readonly delay?: readonly [number, number];
  readonly quality?: Readonly<Record<Quality, number>>;
  readonly boots?: readonly AttestedBoot[];
  /** Numeric readings that rollups still count and that were deleted. Absent: none. */
  readonly deleted?: number;
  /** What the newest earlier document about this day has, if that differs. */
  readonly was?: EarlierDay;
}

export interface EarlierDay {
  readonly document: number;
  readonly count: number;
  readonly digest: string;
}

/** The line before the signature. */
export interface AttestationTotals {
  days: number;
  readings: number;
  missing: number;
  arrived: number;
  unjudged: number;
  late: number;
  deleted: number;
  changed: number;
}

/** The last line of a document. */
export interface AttestationSignature {
  /** SHA-256 of all bytes before this line. */
  readonly sha256: string;
  /** Ed25519, of the text `tidegauge attestation`, a line break, `sha256` and a line break. */
  readonly signature: string;
}

const PART_LENGTH = 64 * 1024;

/** Writes a document. It has its name only when it is complete and on the disk. */
export class DocumentWriter {
  readonly #path: string;
  readonly #file: number;
  readonly #hash = createHash('sha256');
  #part = '';

  /** @throws {Error} when it cannot be written */
  constructor(path: string, header: AttestationHeader) {
    this.#path = path;
    this.#file = openSync(`${path}.new`, 'w', 0o600);
    this.write(header);
  }

  write(line: AttestationHeader | AttestedDay | AttestationTotals): void {
    this.#part += `${JSON.stringify(line)}\n`;
    if (this.#part.length >= PART_LENGTH) this.#flush();
  }

  /** Ends and signs the document. Returns its `sha256`. */
  finish(totals: AttestationTotals, key: KeyObject): string {
    this.write(totals);
    this.#flush();
    const sha256 = this.#hash.digest('hex');
    const signature = sign(null, Buffer.from(`tidegauge attestation\n${sha256}\n`), key).toString('hex');
    const line: AttestationSignature = { sha256, signature };
    this.#write(Buffer.from(`${JSON.stringify(line)}\n`));
    fsyncSync(this.#file);
    renameSync(`${this.#path}.new`, this.#path);
    syncDirectory(dirname(this.#path));
    closeSync(this.#file);
    return sha256;
  }

  /** Removes what was written. */
  abandon(): void {
    closeSync(this.#file);
    rmSync(`${this.#path}.new`, { force: true });
  }

  #flush(): void {
    const bytes = Buffer.from(this.#part);
    this.#part = '';
    this.#hash.update(bytes);
    this.#write(bytes);
  }

  #write(bytes: Buffer): void {
    for (let written = 0; written < bytes.length; )
      written += writeSync(this.#file, bytes, written, bytes.length - written);
  }
}
