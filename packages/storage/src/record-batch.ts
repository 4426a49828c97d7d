import type { RecordFields, YcsbRecord } from './contract.ts';

/**
 * Records by key (in UTF-16 code units), each key once. The order is fast for engines that keep their rows by key. It
 * also prevents deadlocks of batches with common keys.
 * @param lastWins of equal keys, the last one stays. Otherwise, the first one.
 */
export function sortRecords(records: readonly YcsbRecord[], lastWins: boolean): YcsbRecord[] {
  const sorted = [...records].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return sorted.filter(({ key }, index) => sorted[lastWins ? index + 1 : index - 1]?.key !== key);
}

/** Consecutive parts of at most `maxRecords` records. Parts of several records have at most `maxLength` characters. */
export function* partsOf(
  records: readonly YcsbRecord[],
  maxRecords: number,
  maxLength: number,
): Generator<readonly YcsbRecord[]> {
  let start = 0;
  let length = 0;
  for (let index = 0; index < records.length; index += 1) {
    const more = lengthOf(records[index]!);
    if (index > start && (index - start === maxRecords || length + more > maxLength)) {
      yield records.slice(start, index);
      start = index;
      length = 0;
    }
    length += more;
  }
  if (start < records.length) yield start === 0 ? records : records.slice(start);
}

/** Characters of the key and the values of a record, in UTF-16 code units. */
export function lengthOf({ key, fields }: YcsbRecord): number {
  let length = key.length;
  for (const name in fields) length += fields[name]!.length;
  return length;
}

/** The names of all fields that at least one of the records has. */
export function namesIn(records: readonly YcsbRecord[]): readonly string[] {
  const names = new Set<string>();
  let last: RecordFields | null = null;
  for (const { fields } of records) {
    if (last === null || !hasSameNames(fields, last)) for (const name in fields) names.add(name);
    last = fields;
  }
  return [...names].sort();
}

function hasSameNames(some: RecordFields, others: RecordFields): boolean {
  for (const name in some) if (others[name] === undefined) return false;
  return true;
}
