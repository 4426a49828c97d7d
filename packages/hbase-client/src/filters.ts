import { type Bytes, toBytes } from './cells.ts';
import { type ComparatorMessage, type FilterMessage, messages } from './messages.ts';

/** How a stored value compares with a given one: `less` is true where the stored one is less. */
export const COMPARISONS = {
  less: 0,
  lessOrEqual: 1,
  equal: 2,
  notEqual: 3,
  greaterOrEqual: 4,
  greater: 5,
} as const;

export type Comparison = keyof typeof COMPARISONS;

const PACKAGE = 'org.apache.hadoop.hbase.filter.';

/** A filter that servers apply; made by `filters`. */
export interface Filter extends FilterMessage {}

const PrefixFilter = messages.codec<{ prefix: Buffer }>('PrefixFilter');
const ColumnPrefixFilter = messages.codec<{ prefix: Buffer }>('ColumnPrefixFilter');
const ColumnRangeFilter = messages.codec<object>('ColumnRangeFilter');
const FilterList = messages.codec<{ operator: number; filters: readonly Filter[] }>('FilterList');
const KeyOnlyFilter = messages.codec<{ lenAsVal: boolean }>('KeyOnlyFilter');
const PageFilter = messages.codec<{ pageSize: number }>('PageFilter');
const SingleColumnValueFilter = messages.codec<object>('SingleColumnValueFilter');
const BinaryComparator = messages.codec<{ comparable: { value?: Buffer } }>('BinaryComparator');

const [ALL, ONE] = [1, 2];

export const filters = {
  /** Rows whose key begins so. Give a start row too: the servers read what comes before it otherwise. */
  prefix: (prefix: Bytes) => make('PrefixFilter', PrefixFilter.encode({ prefix: toBytes(prefix) })),

  /** Cells whose qualifier begins so. */
  columnPrefix: (prefix: Bytes) =>
    make('ColumnPrefixFilter', ColumnPrefixFilter.encode({ prefix: toBytes(prefix) })),

  /** Cells whose qualifier is in [from, to). */
  columnRange: (from: Bytes, to: Bytes) =>
    make(
      'ColumnRangeFilter',
      ColumnRangeFilter.encode({
        ...{ minColumn: toBytes(from), minColumnInclusive: true },
        ...{ maxColumn: toBytes(to), maxColumnInclusive: false },
      }),
    ),

  /** Rows whose column compares so with a value; rows without the column too, if `orMissing` says so. */
  columnValue(
    family: Bytes,
    qualifier: Bytes,
    comparison: Comparison,
    value: Bytes,
    { orMissing = false } = {},
  ): Filter {
    const bytes = SingleColumnValueFilter.encode({
      columnFamily: toBytes(family),
      columnQualifier: toBytes(qualifier),
      compareOp: COMPARISONS[comparison],
      comparator: binaryComparator(toBytes(value)),
      filterIfMissing: !orMissing,
      latestVersionOnly: true,
    });
    return make('SingleColumnValueFilter', bytes);
  },

  /** At most so many rows of each region: use `limit` to bound a scan as a whole. */
  page: (rows: number) => make('PageFilter', PageFilter.encode({ pageSize: rows })),

  /** The first cell of each row: for counting rows. */
  firstKeyOnly: () => make('FirstKeyOnlyFilter', Buffer.alloc(0)),

  /** Cells without their values. */
  keyOnly: () => make('KeyOnlyFilter', KeyOnlyFilter.encode({ lenAsVal: false })),

  /** What every one of them lets pass. */
  all: (...parts: readonly Filter[]) =>
    make('FilterList', FilterList.encode({ operator: ALL!, filters: parts })),

  /** What any of them lets pass. */
  any: (...parts: readonly Filter[]) =>
    make('FilterList', FilterList.encode({ operator: ONE!, filters: parts })),
} as const;

/** Compares with these bytes; with none, as `null` does in a condition. */
export function binaryComparator(value: Buffer | null): ComparatorMessage {
  const comparable = value === null ? {} : { value };
  return {
    name: `${PACKAGE}BinaryComparator`,
    serializedComparator: BinaryComparator.encode({ comparable }),
  };
}

function make(name: string, serializedFilter: Buffer): Filter {
  return { name: PACKAGE + name, serializedFilter };
}
