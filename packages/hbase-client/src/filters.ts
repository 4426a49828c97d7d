import { type Bytes, toBytes } from './cells.ts';
import { type ComparatorMessage, type FilterMessage, messages } from './messages.ts';

/** Compares a stored value with a given one. `less`: the stored value is less than the given one. */
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

/** A filter that servers apply. `filters` creates it. */
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
  /** Rows whose key has this prefix. Set `start` too: otherwise the servers read all rows before the prefix. */
  prefix: (prefix: Bytes) => make('PrefixFilter', PrefixFilter.encode({ prefix: toBytes(prefix) })),

  /** Cells whose qualifier has this prefix. */
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

  /** Rows whose column compares as given with a value. With `orMissing`, also rows without the column. */
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

  /** At most this number of rows of each region. Use `limit` to bound the whole scan. */
  page: (rows: number) => make('PageFilter', PageFilter.encode({ pageSize: rows })),

  /** The first cell of each row: for counting rows. */
  firstKeyOnly: () => make('FirstKeyOnlyFilter', Buffer.alloc(0)),

  /** Cells without their values. */
  keyOnly: () => make('KeyOnlyFilter', KeyOnlyFilter.encode({ lenAsVal: false })),

  /** Cells and rows that pass all of the filters. */
  all: (...parts: readonly Filter[]) =>
    make('FilterList', FilterList.encode({ operator: ALL!, filters: parts })),

  /** Cells and rows that pass at least one of the filters. */
  any: (...parts: readonly Filter[]) =>
    make('FilterList', FilterList.encode({ operator: ONE!, filters: parts })),
} as const;

/** Compares with these bytes. Null is for a condition on an absent column. */
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
