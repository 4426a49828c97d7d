import { isTable } from './paths.ts';
import { mayBeTime } from './record-time.ts';

// Arrays of objects that have a name and a value each: [{"name": "temperature", "value": 21.5, "unit": "°C"}]

const NAMES = ['name', 'key', 'value_type', 'metric', 'sensor', 'id', 'type', 'label', 'n'];
const CERTAIN_NAMES = ['name', 'key', 'value_type', 'n'];
const VALUES = ['value', 'val', 'v', 'state', 'measurementValue'];
const UNITS = ['unit', 'units', 'unit_of_measurement', 'uom'];

/** The fields that the elements of an array have in common. */
export interface NamedValues {
  readonly name: string;
  readonly value: string;
}

export const NO_FIELDS: ReadonlySet<string> = new Set();
const NOTHING: readonly unknown[] = Object.freeze([]);

/** The records of a payload that is an array, or an object with the only field `readings`; otherwise none. */
export function recordList(root: unknown): readonly unknown[] {
  if (Array.isArray(root)) return root;
  if (!isTable(root) || !Array.isArray(root.readings) || Object.keys(root).length !== 1) return NOTHING;
  return root.readings;
}

/** The fields for name and value, when each element has both and all names differ; otherwise null. */
export function namedValues(array: readonly unknown[]): NamedValues | null {
  const first = array[0];
  if (!isTable(first)) return null;
  const value = VALUES.find((field) => isScalar(first[field]));
  if (value === undefined) return null;
  for (const name of NAMES) {
    if (typeof first[name] === 'string' && areDistinct(array, name, value)) return { name, value };
  }
  return null;
}

/**
 * Like `namedValues`, for elements that have their own time or device, so that each is a record. A name can then occur
 * several times. Null for elements without both, and for those with `metric`, which records have anyway.
 *
 * @param used fields that the mapping uses of each record: they make it one, and are no names of metrics
 */
export function namedRecords(
  array: readonly unknown[],
  used: ReadonlySet<string> = NO_FIELDS,
): NamedValues | null {
  const first = array[0];
  if (!isTable(first)) return null;
  const value = VALUES.find((field) => isScalar(first[field]));
  if (value === undefined) return null;
  const hasBoth = (name: string) => (element: unknown) =>
    isTable(element) && isFilled(element[name]) && Object.hasOwn(element, value);
  const isOwn = (field: string) => used.has(field) || isRecordField(field);
  const isRecord = (element: unknown) => isTable(element) && Object.keys(element).some(isOwn);
  const name = CERTAIN_NAMES.find((field) => isFilled(first[field]) && array.every(hasBoth(field)));
  const found = name === undefined ? namedValues(array) : { name, value };
  if (found === null || found.name === 'metric' || used.has(found.name)) return null;
  return array.some(isRecord) ? found : null;
}

/** Whether a field names the metric of a value without doubt. Others, such as `id`, can be the number of a message. */
export function isCertainName(field: string): boolean {
  return CERTAIN_NAMES.includes(field);
}

function isRecordField(field: string): boolean {
  return field === 'device' || mayBeTime(field);
}

/** The unit of an element; null without one. */
export function unitOfElement(
  element: Readonly<Record<string, unknown>>,
): { field: string; unit: string } | null {
  for (const field of UNITS) {
    const unit = element[field];
    if (typeof unit === 'string' && unit !== '') return { field, unit };
  }
  return null;
}

/** The value of an object that has nothing else besides its unit; null for other objects. */
export function onlyValueOf(
  object: Readonly<Record<string, unknown>>,
): { readonly value: unknown; readonly unit: string | null } | null {
  const keys = Object.keys(object);
  if (keys.length === 1 && isScalar(object.value)) return { value: object.value, unit: null };
  if (keys.length !== 2) return null;
  const field = keys.find((key) => VALUES.includes(key));
  const unit = unitOfElement(object);
  if (field === undefined || unit === null || !isScalar(object[field])) return null;
  return { value: object[field], unit: unit.unit };
}

function areDistinct(array: readonly unknown[], name: string, value: string): boolean {
  const names = new Set<string>();
  for (const element of array) {
    if (!isTable(element)) return false;
    const own = element[name];
    if (!isFilled(own) || !Object.hasOwn(element, value)) return false;
    names.add(own);
  }
  return names.size === array.length;
}

function isFilled(name: unknown): name is string {
  return typeof name === 'string' && name !== '';
}

function isScalar(value: unknown): boolean {
  return (
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null
  );
}
