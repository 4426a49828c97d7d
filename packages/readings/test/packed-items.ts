import fc from 'fast-check';

/** Bytes, as numbers. */
type Bytes = readonly number[];
type Item = fc.Arbitrary<Bytes>;

const ofText = (text: string): Bytes => [...Buffer.from(text)];
const joined = (...parts: readonly Bytes[]): Bytes => parts.flat();

/** The initial byte of an item of CBOR, with its argument (RFC 8949, section 3). */
const headOf = (major: number, value: number): Bytes =>
  value < 24 ? [(major << 5) | value] : [(major << 5) | 25, value >> 8, value & 0xff];

/** Bytes after one of these starts. */
const followed = (starts: readonly number[], length: number): Item =>
  fc
    .tuple(fc.constantFrom(...starts), fc.array(fc.nat(255), { minLength: length, maxLength: length }))
    .map(([start, rest]) => [start, ...rest]);

const few = (item: Item): fc.Arbitrary<readonly Bytes[]> => fc.array(item, { maxLength: 4 });
const pairs = (key: Item, value: Item): fc.Arbitrary<readonly Bytes[]> =>
  few(fc.tuple(key, value).map(([name, content]) => joined(name, content)));

/**
 * Items of a format: texts, and what `kinds` makes of items, also of keys of maps. Most keys are texts.
 *
 * @param texts encoded texts, such as names of fields
 */
function itemsOf(texts: Item, kinds: (item: Item, key: Item) => readonly Item[]): Item {
  return fc.letrec<{ item: Bytes }>((tie) => {
    const item = tie('item');
    const key = fc.oneof({ weight: 8, arbitrary: texts }, { weight: 1, arbitrary: item });
    return { item: fc.oneof({ depthSize: 'small' }, texts, ...kinds(item, key)) };
  }).item;
}

/** Items of CBOR, also malformed ones: a break in place of an item, and simple values that are not assigned. */
export function cborItems(text: fc.Arbitrary<string>): Item {
  const texts = text.map(ofText).map((bytes) => joined(headOf(3, bytes.length), bytes));
  return itemsOf(texts, (item, key) => [
    fc.tuple(fc.constantFrom(0, 1), fc.nat(65_535)).map(([major, value]) => headOf(major, value)),
    // A break, which is an item nowhere.
    fc.constant([0xff]),
    fc.constantFrom(0xf4, 0xf5, 0xf6, 0xf7, 0xe0, 0x1c, 0x5f, 0x7f).map((byte) => [byte]),
    followed([0xf8], 1),
    followed([0xf9], 2),
    followed([0xfb, 0x1b, 0x3b], 8),
    fc
      .tuple(fc.constantFrom(0, 1, 2, 4, 24, 55_799), item)
      .map(([tag, content]) => joined(headOf(6, tag), content)),
    few(item).map((items) => joined(headOf(4, items.length), ...items)),
    few(item).map((items) => joined([0x9f], ...items, [0xff])),
    pairs(key, item).map((entries) => joined(headOf(5, entries.length), ...entries)),
    pairs(key, item).map((entries) => joined([0xbf], ...entries, [0xff])),
  ]);
}

/** Items of MessagePack, also malformed ones. */
export function messagePackItems(text: fc.Arbitrary<string>): Item {
  const texts = text
    .map(ofText)
    .map((bytes) => joined([0xda, bytes.length >> 8, bytes.length & 0xff], bytes));
  return itemsOf(texts, (item, key) => [
    fc.nat(127).map((value) => [value]),
    fc.constantFrom(0xc0, 0xc1, 0xc2, 0xc3, 0xd4, 0xdd, 0xdf, 0xff).map((byte) => [byte]),
    followed([0xca, 0xd6], 4),
    followed([0xcb, 0xcf, 0xd3], 8),
    // A timestamp, and an extension of another type.
    fc
      .tuple(fc.constantFrom(0xff, 1), followed([0xd7], 8))
      .map(([type, [start, ...rest]]) => [start!, type, ...rest]),
    few(item).map((items) => joined([0x90 | items.length], ...items)),
    pairs(key, item).map((entries) => joined([0x80 | entries.length], ...entries)),
  ]);
}
