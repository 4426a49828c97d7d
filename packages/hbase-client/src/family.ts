import type { BytesPair, FamilyMessage } from './admin-messages.ts';
import { count } from './options.ts';

const COMPRESSIONS = ['NONE', 'GZ', 'SNAPPY', 'LZ4', 'LZO', 'ZSTD'] as const;
const BLOOM_FILTERS = ['NONE', 'ROW', 'ROWCOL'] as const;
const BLOCK_ENCODINGS = ['NONE', 'PREFIX', 'DIFF', 'FAST_DIFF', 'ROW_INDEX_V1'] as const;

/** HConstants.FOREVER, seconds. */
const FOREVER = 2 ** 31 - 1;
const MOST_VERSIONS = 2 ** 31 - 1;

/** How a column family is stored. An option that is left out keeps its value, or has HBase's default. */
export interface FamilyOptions {
  /** The number of versions of a cell that are kept. HBase's default: 1. */
  readonly maxVersions?: number;
  /** Seconds after which cells are deleted. Null, the default: never. */
  readonly ttlSeconds?: number | null;
  /** The servers must have the library. `GZ` is always available. Default `NONE`. */
  readonly compression?: (typeof COMPRESSIONS)[number];
  /** Default `ROW`. */
  readonly bloomFilter?: (typeof BLOOM_FILTERS)[number];
  /** How similar keys share bytes within a block. Default `NONE`. */
  readonly blockEncoding?: (typeof BLOCK_ENCODINGS)[number];
}

/** The current description of a column family. */
export type Family = Required<FamilyOptions> & {
  readonly name: string;
  /** All its attributes, with the names that HBase uses. */
  readonly attributes: Readonly<Record<string, string>>;
};

/**
 * Applies the options to the current family. @throws {TypeError} with the name of the wrong option.
 */
export function alteredFamily(name: string, options: FamilyOptions, now?: FamilyMessage): FamilyMessage {
  if (!/^[^:\p{Cc}]+$/u.test(name) || name.startsWith('.')) {
    throw new TypeError(`a column family has neither ":" nor a leading ".": ${JSON.stringify(name)}`);
  }
  const attributes = new Map(now?.attributes.map(({ first, second }) => [first.toString(), second]));
  for (const [key, value] of Object.entries(attributesOf(options))) attributes.set(key, Buffer.from(value));
  const pairs: BytesPair[] = [...attributes].map(([key, second]) => ({ first: Buffer.from(key), second }));
  return { ...now, name: Buffer.from(name), attributes: pairs };
}

export function readAttributes(pairs: readonly BytesPair[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ first, second }) => [first.toString(), second.toString()]));
}

export function readFamily(message: FamilyMessage): Family {
  const attributes = readAttributes(message.attributes);
  const ttl = Number(attributes.TTL ?? FOREVER);
  return {
    name: message.name.toString(),
    maxVersions: Number(attributes.VERSIONS ?? 1),
    ttlSeconds: ttl >= FOREVER ? null : ttl,
    compression: (attributes.COMPRESSION ?? 'NONE') as Family['compression'],
    bloomFilter: (attributes.BLOOMFILTER ?? 'ROW') as Family['bloomFilter'],
    blockEncoding: (attributes.DATA_BLOCK_ENCODING ?? 'NONE') as Family['blockEncoding'],
    attributes,
  };
}

/** Attributes with the names of ColumnFamilyDescriptorBuilder. */
function attributesOf(options: FamilyOptions): Record<string, string> {
  const { maxVersions, ttlSeconds, compression, bloomFilter, blockEncoding } = options;
  const attributes: Record<string, string> = {};
  if (maxVersions !== undefined) {
    attributes.VERSIONS = String(count('maxVersions', maxVersions, MOST_VERSIONS));
  }
  if (ttlSeconds !== undefined) {
    attributes.TTL = String(ttlSeconds === null ? FOREVER : count('ttlSeconds', ttlSeconds, FOREVER));
  }
  if (compression !== undefined) attributes.COMPRESSION = oneOf('compression', compression, COMPRESSIONS);
  if (bloomFilter !== undefined) attributes.BLOOMFILTER = oneOf('bloomFilter', bloomFilter, BLOOM_FILTERS);
  if (blockEncoding !== undefined) {
    attributes.DATA_BLOCK_ENCODING = oneOf('blockEncoding', blockEncoding, BLOCK_ENCODINGS);
  }
  return attributes;
}

function oneOf(name: string, value: string, allowed: readonly string[]): string {
  if (allowed.includes(value)) return value;
  throw new TypeError(`${name} is one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`);
}
