import {
  type Device,
  deviceNameProblem,
  MAX_TEXT_LENGTH,
  MAX_TIME,
  metricNameProblem,
  type Reading,
  unitProblem,
} from '@tidegauge/readings';
import type {
  AggregateQuery,
  DeleteQuery,
  DeviceFilter,
  DevicePatch,
  DeviceQuery,
  DevicesRangeQuery,
  GroupKey,
  GroupOrder,
  GroupQuery,
  RangeCursor,
  RangeQuery,
  RecordFields,
  RollupPeriod,
  RollupQuery,
  SeriesName,
  SeriesScope,
  SeriesUnit,
  YcsbRecord,
} from './contract.ts';
import { StoreError } from './errors.ts';
import { PERIOD_US } from './rollups/periods.ts';

// All checks of arguments. The wrapper makes them once for all backends. Data to be stored can come from a sensor
// or a person, so wrong data is REJECTED with a reason. A query is built by the caller, so a wrong query is a
// TypeError. The bounds are exported, so that a caller can check user input first.

/** The largest number of buckets of one `aggregate`. */
export const MAX_BUCKETS = 100_000;
/** The largest number of groups of one `groups`. */
export const MAX_GROUPS = 100_000;
/** The largest number of names in `latest` and `units`, devices in a page of `list`, and records in a `scan`. */
export const MAX_PAGE = 10_000;
/** The largest number of metrics of a device. A reading that exceeds it is REJECTED. */
export const MAX_METRICS = 500;
/**
 * All metrics of a device can be read at once up to this number. It exceeds `MAX_METRICS`, because several
 * processes that write at the same time can exceed that bound.
 */
export const MAX_METRICS_READ = 1000;
/** Longest `boot`, device field or record key, in UTF-16 code units. */
export const MAX_WORD_LENGTH = 200;
/** Longest record field, in UTF-16 code units. */
export const MAX_FIELD_LENGTH = 1_048_576;
/** The largest number of fields of a table of records. */
export const MAX_FIELDS = 1000;
/** The largest number of records of one `insertMany`. */
export const MAX_INSERT_RECORDS = 10_000;
/** Most characters of the keys and values of one `insertMany`, in UTF-16 code units. One record may exceed it. */
export const MAX_INSERT_LENGTH = 16_777_216;
/** Longest attributes of a device, as JSON. */
export const MAX_ATTRIBUTES_LENGTH = 16_384;

const MAX_KNOWN_NAMES = 20_000;

/** Caches valid names, because a sensor sends the same two names with every reading. The cache is bounded. */
function remember(check: (name: string) => string | null): (name: unknown) => string | null {
  const known = new Set<string>();
  return (name) => {
    if (typeof name !== 'string') return `a name is a text, not ${typeof name}`;
    if (known.has(name)) return null;
    const problem = check(name);
    if (problem !== null) return problem;
    if (known.size >= MAX_KNOWN_NAMES) known.clear();
    known.add(name);
    return null;
  };
}

const deviceProblem = remember(deviceNameProblem);
const metricProblem = remember(metricNameProblem);

function valueProblem(value: number | string): string | null {
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : `value ${value} is not a finite number`;
  const text = textProblem(value, MAX_TEXT_LENGTH);
  return text === null ? null : `value ${text}`;
}

/** Why no backend can store the reading, or null. The names of a known series were checked before. */
export function readingProblem(reading: Reading, knowsSeries: boolean): string | null {
  const { time, value, received, boot, seq, quality } = reading;
  if (!knowsSeries) {
    const problem = deviceProblem(reading.device) ?? metricProblem(reading.metric);
    if (problem !== null) return problem;
  }
  if (!isTime(time)) return `time ${time} is not a whole number of microseconds from 0 to ${MAX_TIME}`;
  if (!isTime(received)) return `received ${received} is not a whole number of microseconds`;
  const wrongValue = valueProblem(value);
  if (wrongValue !== null) return wrongValue;
  if (boot !== null) {
    const text = textProblem(boot, MAX_WORD_LENGTH);
    if (text !== null) return `boot ${text}`;
  }
  if (seq !== null && !isTime(seq)) return `seq ${seq} is not a whole number from 0 on`;
  if (quality !== 'ok' && quality !== 'skewed' && quality !== 'unsynced')
    return `quality ${quality} is unknown`;
  return null;
}

/**
 * @param isKnown whether readings of a device's metric were checked before
 * @returns whether all series are known
 * @throws {StoreError} REJECTED with the indexes of all rows that no backend can store.
 */
export function checkBatch(
  batch: readonly Reading[],
  isKnown: (device: string, metric: string) => boolean,
): boolean {
  let rows: number[] | null = null;
  let first = '';
  let allKnown = true;
  for (let row = 0; row < batch.length; row += 1) {
    const reading = batch[row]!;
    const known = isKnown(reading.device, reading.metric);
    if (!known) allKnown = false;
    const problem = readingProblem(reading, known);
    if (problem === null) continue;
    if (rows === null) {
      rows = [];
      first = problem;
    }
    rows.push(row);
  }
  if (rows !== null) {
    throw new StoreError('REJECTED', `${rows.length} of ${batch.length} readings: ${first}`, { rows });
  }
  return allKnown;
}

export function checkRange(query: RangeQuery): void {
  checkSeries(query.device, query.metric);
  checkPart(query);
  if (query.after !== undefined) checkCursor(query.after);
}

export function checkDevicesRange(filter: DeviceFilter, query: DevicesRangeQuery): void {
  checkFilter(filter);
  demand(isFilter(filter), 'a filter has at least one field');
  if (query.metric !== undefined) demandMetric(query.metric);
  checkPart(query);
  if (query.after === undefined) return;
  checkSeries(query.after.device);
  checkCursor(query.after);
}

export function checkDelete({ device, metric, from, to }: DeleteQuery): void {
  checkSeries(device, metric);
  checkBounds(from, to);
}

function checkPart({ from, to, order, limit }: Omit<DevicesRangeQuery, 'after'>): void {
  checkBounds(from, to);
  demand(order === undefined || order === 'asc' || order === 'desc', 'order is asc or desc');
  checkLimit(limit);
}

function checkBounds(from: number | undefined, to: number | undefined): void {
  demand(from === undefined || Number.isSafeInteger(from), 'from is microseconds');
  demand(to === undefined || Number.isSafeInteger(to), 'to is microseconds');
}

function checkCursor({ time, metric }: RangeCursor): void {
  demand(Number.isSafeInteger(time), 'after.time is microseconds');
  demand(metricProblem(metric) === null, 'after.metric is a metric');
}

const GROUP_KEYS: readonly GroupKey[] = ['device', 'day', 'metric', 'site', 'city', 'kind', 'all'];
const GROUP_ORDERS: readonly GroupOrder[] = ['key', 'sum', 'mean', 'count'];

export function checkGroups(query: GroupQuery): void {
  const { by, metric, devices, prefix, bucket, from, to, order, limit } = query;
  demand(GROUP_KEYS.includes(by), `by is ${GROUP_KEYS.join(', ')}`);
  if (prefix !== undefined) checkSeries(prefix);
  demand(
    bucket === undefined || (Number.isSafeInteger(bucket) && bucket > 0),
    'bucket is a length in microseconds',
  );
  if (metric !== undefined) demandMetric(metric);
  if (devices !== undefined) checkFilter(devices);
  checkBounds(from, to);
  demand(order === undefined || GROUP_ORDERS.includes(order), 'order is key, sum, mean or count');
  demand(Number.isInteger(limit) && limit >= 1 && limit <= MAX_GROUPS, `limit is 1 to ${MAX_GROUPS}`);
}

export function checkLimit(limit: number): void {
  demand(Number.isSafeInteger(limit) && limit > 0, 'limit is a whole number from 1 on');
}

export function checkAggregate(query: AggregateQuery): void {
  const { from, to, bucket } = query;
  checkSeries(query.device, query.metric);
  demand(Number.isSafeInteger(from) && Number.isSafeInteger(to), 'from and to are microseconds');
  demand(Number.isSafeInteger(bucket) && bucket > 0, 'bucket is a whole number of microseconds from 1 on');
  demand((to - from) / bucket <= MAX_BUCKETS, `from, to and bucket make at most ${MAX_BUCKETS} buckets`);
}

export function checkRollups({ device, metric, period, from, to }: RollupQuery): void {
  checkSeries(device, metric);
  checkPeriod(period);
  const length = PERIOD_US[period];
  demand(Number.isSafeInteger(from) && Number.isSafeInteger(to), 'from and to are microseconds');
  demand(from % length === 0 && to % length === 0, `from and to are multiples of a ${period}`);
  demand((to - from) / length <= MAX_BUCKETS, `from and to make at most ${MAX_BUCKETS} periods`);
}

export function checkPeriod(period: RollupPeriod): void {
  demand(Object.hasOwn(PERIOD_US, period), 'a period is minute, hour or day');
}

export function checkScope({ devices, metric }: SeriesScope): void {
  if (devices !== undefined) checkSeries(devices);
  if (metric !== undefined) demandMetric(metric);
}

export function checkDevices(names: readonly string[]): void {
  demand(Array.isArray(names) && names.length <= MAX_PAGE, `devices are at most ${MAX_PAGE} names`);
  for (const name of names) checkSeries(name);
}

/** @throws {StoreError} REJECTED with the indexes of units that no backend can store. */
export function checkUnits(units: readonly SeriesUnit[]): void {
  checkSeriesNames(units);
  const problems = units.map(({ unit }) =>
    typeof unit === 'string' ? unitProblem(unit) : 'a unit is a text',
  );
  const rows = problems.flatMap((problem, row) => (problem === null ? [] : [row]));
  if (rows.length > 0) throw new StoreError('REJECTED', String(problems[rows[0]!]), { rows });
}

export function checkSeriesNames(series: readonly SeriesName[]): void {
  demand(Array.isArray(series) && series.length <= MAX_PAGE, `series are at most ${MAX_PAGE} names`);
  for (const { device, metric } of series) checkSeries(device, metric);
}

export function checkTime(time: number): void {
  demand(Number.isSafeInteger(time), 'a time is a whole number of microseconds');
}

/** @throws {StoreError} REJECTED with the indexes of the invalid names. */
export function checkRegistration(names: readonly string[]): void {
  const problems = names.map(deviceProblem);
  const rows = problems.flatMap((problem, row) => (problem === null ? [] : [row]));
  if (rows.length > 0) throw new StoreError('REJECTED', String(problems[rows[0]!]), { rows });
}

export function checkDevice(device: Device): void {
  const problem = deviceProblem(device.name);
  if (problem !== null) throw new StoreError('REJECTED', problem);
  const { site, city, kind, year, attributes } = device;
  for (const [key, value] of Object.entries({ site, city, kind, year, attributes })) {
    if (value === undefined) throw new StoreError('REJECTED', `device ${key} is missing`);
  }
  checkPatch(device);
}

export function checkPatch(patch: DevicePatch): void {
  const { site, city, kind, year, attributes } = patch;
  for (const [key, text] of Object.entries({ site, city, kind })) {
    const problem = text === undefined || text === null ? null : textProblem(text, MAX_WORD_LENGTH);
    if (problem !== null) throw new StoreError('REJECTED', `${key} ${problem}`);
  }
  if (year !== undefined && year !== null && !(Number.isInteger(year) && year >= 0 && year <= 9999)) {
    throw new StoreError('REJECTED', `year ${year} is not a whole number from 0 to 9999`);
  }
  if (attributes !== undefined) checkAttributes(attributes);
}

function checkAttributes(attributes: Device['attributes']): void {
  for (const [name, value] of Object.entries(attributes)) {
    const scalar = value === null || typeof value === 'boolean' || Number.isFinite(value);
    const problem =
      textProblem(name, MAX_WORD_LENGTH) ?? (scalar ? null : textProblem(value, MAX_TEXT_LENGTH));
    if (problem !== null) throw new StoreError('REJECTED', `attribute ${JSON.stringify(name)} ${problem}`);
  }
  if (JSON.stringify(attributes).length > MAX_ATTRIBUTES_LENGTH) {
    throw new StoreError('REJECTED', `attributes are longer than ${MAX_ATTRIBUTES_LENGTH} as JSON`);
  }
}

export function checkFilter(filter: DeviceFilter): void {
  const { year, site, city, kind } = filter;
  demand(year === undefined || Number.isSafeInteger(year), 'year is a whole number');
  for (const text of [site, city, kind])
    demand(text === undefined || typeof text === 'string', 'a filter is text');
}

/** Whether a filter has a field. Without one, it matches every device. */
export function isFilter({ year, site, city, kind }: DeviceFilter): boolean {
  return [year, site, city, kind].some((field) => field !== undefined);
}

export function checkDeviceQuery(query: DeviceQuery): void {
  checkFilter(query);
  demand(isCount(query.limit), `limit is 1 to ${MAX_PAGE}`);
  demand(query.after === undefined || typeof query.after === 'string', 'after is a name');
}

/** The shortest and longest time of a lease, milliseconds. Some engines count whole seconds. */
export const LEASE_MS = { min: 1000, max: 3_600_000 } as const;

export function checkLease(name: string, holder: string, ms: number): void {
  demand(/^[a-z][a-z-]{0,31}$/.test(name), 'the name of a lease is up to 32 small letters and -');
  demand(holder !== '' && textProblem(holder, MAX_WORD_LENGTH) === null, 'a holder is a name');
  const isTime = Number.isInteger(ms) && ms >= LEASE_MS.min && ms <= LEASE_MS.max;
  demand(isTime, `a lease is ${LEASE_MS.min} to ${LEASE_MS.max} ms long`);
}

export function checkIdentity(identity: string): void {
  demand(identity !== '' && textProblem(identity, MAX_WORD_LENGTH) === null, 'an identity is a short text');
}

const TABLE = /^[A-Za-z][A-Za-z0-9_]{0,47}$/;
// Tables of Tidegauge and of the databases. `records` shares a database with them and must not use them.
const RESERVED = /^(?:readings|devices|series|boots|(?:tidegauge|sqlite|pg|citus|system)_.*)$/i;

/** The table of records in which ingest keeps the state of its alerts. Clients of the API cannot use it. */
export const ALERT_TABLE = 'tidegauge_alerts';

/** Why a client's records cannot be kept in a table of that name, or null. */
export function tableProblem(table: string): string | null {
  if (!TABLE.test(table)) return 'a table is a letter, then up to 47 letters, digits and _';
  return RESERVED.test(table) ? `table name ${table} is reserved` : null;
}

export function checkTable(table: string): void {
  demand(typeof table === 'string', 'a table is a name');
  const problem = table === ALERT_TABLE ? null : tableProblem(table);
  demand(problem === null, String(problem));
}

export function checkFieldCount(fieldCount: number): void {
  const right = Number.isInteger(fieldCount) && fieldCount >= 1 && fieldCount <= MAX_FIELDS;
  demand(right, `a table has 1 to ${MAX_FIELDS} fields`);
}

export function checkKey(key: string): void {
  const problem = keyProblem(key);
  if (problem !== null) throw new StoreError('REJECTED', problem);
}

function keyProblem(key: string): string | null {
  const problem = key === '' ? 'is empty' : textProblem(key, MAX_WORD_LENGTH);
  return problem === null ? null : `key ${problem}`;
}

const FIELD = /^field(?:0|[1-9]\d{0,2})$/;

export function checkFieldNames(fields: readonly string[]): void {
  demand(fields.length > 0, 'there is at least one field');
  for (const field of fields) demand(FIELD.test(field), 'a field is field0 to field999');
}

export function checkFields(fields: RecordFields): void {
  checkFieldNames(Object.keys(fields));
  for (const [name, value] of Object.entries(fields)) {
    const problem = textProblem(value, MAX_FIELD_LENGTH);
    if (problem !== null) throw new StoreError('REJECTED', `${name} ${problem}`);
  }
}

/**
 * @throws {StoreError} REJECTED with the indexes of all records that no backend can store.
 */
export function checkRecords(records: readonly YcsbRecord[]): void {
  demand(
    Array.isArray(records) && records.length <= MAX_INSERT_RECORDS,
    `records are at most ${MAX_INSERT_RECORDS}`,
  );
  const rows: number[] = [];
  let first = '';
  let length = 0;
  let names: readonly string[] | null = null;
  for (const [row, { key, fields }] of records.entries()) {
    const own = Object.keys(fields);
    if (names === null || !isEqual(own, names)) checkFieldNames(own);
    names = own;
    const problem = recordProblem(key, fields, own);
    if (problem !== null) {
      if (rows.length === 0) first = problem;
      rows.push(row);
      continue;
    }
    length += key.length;
    for (const name of own) length += fields[name]!.length;
  }
  demand(
    records.length < 2 || length <= MAX_INSERT_LENGTH,
    `records have at most ${MAX_INSERT_LENGTH} characters`,
  );
  if (rows.length > 0) {
    throw new StoreError('REJECTED', `${rows.length} of ${records.length} records: ${first}`, { rows });
  }
}

function recordProblem(key: string, fields: RecordFields, names: readonly string[]): string | null {
  const problem = keyProblem(key);
  if (problem !== null) return problem;
  for (const name of names) {
    const wrong = textProblem(fields[name], MAX_FIELD_LENGTH);
    if (wrong !== null) return `${name} ${wrong}`;
  }
  return null;
}

function isEqual(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each, index) => each === others[index]);
}

export function checkScan(start: string, count: number, fields: readonly string[] | null): void {
  demand(typeof start === 'string', 'start is a key');
  demand(isCount(count), `count is 1 to ${MAX_PAGE}`);
  if (fields !== null) checkFieldNames(fields);
}

function checkSeries(device: string, metric?: string): void {
  const problem = deviceProblem(device);
  demand(problem === null, String(problem));
  if (metric !== undefined) demandMetric(metric);
}

function demandMetric(metric: string): void {
  const problem = metricProblem(metric);
  demand(problem === null, String(problem));
}

/**
 * Why not every backend can keep a text exactly, or null. PostgreSQL refuses NUL, and UTF-8 has no lone
 * surrogates.
 */
function textProblem(text: unknown, maxLength: number): string | null {
  if (typeof text !== 'string') return `is ${typeof text}, not a text`;
  if (text.length > maxLength) return `is longer than ${maxLength} characters`;
  if (text.includes('\0')) return 'contains U+0000';
  return text.isWellFormed() ? null : 'contains half of a surrogate pair';
}

function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_PAGE;
}

function demand(condition: boolean, message: string): void {
  if (!condition) throw new TypeError(message);
}
