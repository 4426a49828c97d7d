import fc from 'fast-check';

/** The unit that disks and SQLite write, bytes. */
export const PAGE = 4096;

const KINDS = ['bit', 'byte', 'page', 'cut', 'swap', 'old'] as const;

/** A change of a file on a disk that fails. Places are shares of the file, from 0 to 1. */
export interface Change {
  readonly kind: (typeof KINDS)[number];
  readonly at: number;
  /** The other page of a swap. */
  readonly other: number;
  /** A bit or a byte. */
  readonly value: number;
}

const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

export const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom(...KINDS),
  at: place,
  other: place,
  value: fc.nat(255),
});

/**
 * A changed copy of `data`: a bit or a byte differs, a page has one byte only, the end is missing, two pages are
 * exchanged, or a page is that of an earlier version of the file.
 *
 * @param earlier the file at an earlier time
 */
export function changed(data: Buffer, earlier: Buffer, { kind, at, other, value }: Change): Buffer {
  const copy = Buffer.from(data);
  const offset = Math.floor(at * data.length);
  const start = pageAt(offset);
  const end = Math.min(start + PAGE, data.length);
  switch (kind) {
    case 'bit':
      copy[offset]! ^= 1 << (value & 7);
      return copy;
    case 'byte':
      copy[offset] = value;
      return copy;
    case 'page':
      return copy.fill(value, start, end);
    case 'cut':
      return copy.subarray(0, offset);
    case 'swap': {
      // The last page can be shorter.
      const second = pageAt(Math.floor(other * data.length));
      const length = Math.min(PAGE, data.length - Math.max(start, second));
      data.copy(copy, start, second, second + length);
      data.copy(copy, second, start, start + length);
      return copy;
    }
    case 'old':
      copy.fill(0, start, end);
      if (start < earlier.length) earlier.copy(copy, start, start, Math.min(end, earlier.length));
      return copy;
  }
}

function pageAt(offset: number): number {
  return offset - (offset % PAGE);
}
