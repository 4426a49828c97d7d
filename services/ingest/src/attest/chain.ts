import { closeSync, createReadStream, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isTable } from '@tidegauge/readings';
import { ConfigError, isWithin } from '@tidegauge/service';
import type { AttestationHeader, AttestationSignature, AttestedDay, EarlierDay } from './document.ts';

/** More than a header or a signature has. */
const MOST_LINE_BYTES = 4096;
/** Days of devices in memory that earlier documents have: about 200 bytes each. */
const MOST_EARLIER = 1_000_000;
const NAME = /^(\d{6,15})\.jsonl$/;

/** A complete document of a chain. */
export interface ChainDocument extends AttestationHeader {
  readonly path: string;
  readonly sha256: string;
}

/**
 * Reads the first and the last line of all documents of a directory, the oldest first.
 *
 * @throws {ConfigError} when one is missing or is not a document
 */
export function readChain(directory: string): ChainDocument[] {
  if (!existsSync(directory)) return [];
  const found = readdirSync(directory).filter((name) => NAME.test(name));
  const chain: ChainDocument[] = [];
  for (const name of found.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))) {
    const path = join(directory, name);
    const { first, last } = edgesOf(path);
    const [header, signature] = [tableOf(first), tableOf(last)] as [
      Partial<AttestationHeader> | null,
      Partial<AttestationSignature> | null,
    ];
    if (header?.attestation !== 1 || typeof signature?.sha256 !== 'string')
      throw new ConfigError([`${path} is not a complete document: restore it from a copy`]);
    if (header.number !== chain.length + 1 || header.previous !== (chain.at(-1)?.sha256 ?? null))
      throw new ConfigError([
        `${path} does not continue document ${chain.length}: restore the documents from a copy`,
      ]);
    chain.push({ ...(header as AttestationHeader), path, sha256: signature.sha256 });
  }
  return chain;
}

/** The path of a document. */
export function pathOf(directory: string, number: number): string {
  return join(directory, `${String(number).padStart(6, '0')}.jsonl`);
}

/** The key that signs the next document of a chain; null for the first one. */
export function keyOf(chain: readonly ChainDocument[]): string | null {
  const last = chain.at(-1);
  return last === undefined ? null : (last.nextKey ?? last.key);
}

/** Days of devices in earlier documents, by device and day. The newest document counts. */
export type EarlierDays = ReadonlyMap<string, ReadonlyMap<string, EarlierDay>>;

interface Period {
  readonly from: string;
  readonly to: string;
  /** Only this device and those below it; null for all. */
  readonly device: string | null;
}

/**
 * What earlier documents have about days from `from` to `to`.
 *
 * @throws {ConfigError} when there are too many for the memory
 */
export async function earlierDays(chain: readonly ChainDocument[], period: Period): Promise<EarlierDays> {
  const { from, to } = period;
  const found = new Map<string, Map<string, EarlierDay>>();
  let count = 0;
  for (const document of chain) {
    if (document.from === null || document.to === null || document.from > to || document.to < from) continue;
    for await (const line of createInterface({ input: createReadStream(document.path) })) {
      const each = dayIn(period, line);
      if (each === null) continue;
      const days = found.get(each.device) ?? new Map<string, EarlierDay>();
      found.set(each.device, days);
      if (!days.has(each.day) && ++count > MOST_EARLIER)
        throw new ConfigError([
          `earlier documents have more than ${MOST_EARLIER} days of devices from ${from} to ${to}: use --device, or a later --from`,
        ]);
      days.set(each.day, { document: document.number, count: each.count, digest: each.digest });
    }
  }
  return found;
}

/** The day of a device in a line of a document; null for other lines, and outside of the period. */
function dayIn({ from, to, device }: Period, line: string) {
  const each = tableOf(line) as Partial<AttestedDay> | null;
  if (each?.device === undefined || each.day === undefined || each.count === undefined) return null;
  if (each.day < from || each.day > to || !isWithin(device, each.device)) return null;
  return { device: each.device, day: each.day, count: each.count, digest: each.digest ?? '' };
}

function tableOf(line: string): object | null {
  try {
    const value: unknown = JSON.parse(line);
    return isTable(value) ? value : null;
  } catch {
    return null;
  }
}

/** The first and the last line of a file. */
function edgesOf(path: string): { readonly first: string; readonly last: string } {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const part = Buffer.alloc(MOST_LINE_BYTES);
    const textAt = (position: number) => part.toString('utf8', 0, readSync(file, part, { position }));
    const first = textAt(0).split('\n')[0]!;
    const last = textAt(Math.max(0, size - MOST_LINE_BYTES))
      .trimEnd()
      .split('\n')
      .at(-1)!;
    return { first, last };
  } finally {
    closeSync(file);
  }
}
