import { isTable } from './paths.ts';

// Arrays of objects that have a name and a value each: [{"name": "temperature", "value": 21.5, "unit": "°C"}]

const NAMES = ['name', 'key', 'value_type', 'metric', 'sensor', 'id', 'type', 'label', 'n'];
const VALUES = ['value', 'val', 'v', 'state', 'measurementValue'];
const UNITS = ['unit', 'units', 'unit_of_measurement', 'uom'];

/** The fields that the elements of an array have in common. */
export interface NamedValues {
  readonly name: string;
  readonly value: string;
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

/** The value and the unit of an object that has both and nothing else; null for other objects. */
export function valueWithUnit(
  object: Readonly<Record<string, unknown>>,
): { readonly value: unknown; readonly unit: string } | null {
  const keys = Object.keys(object);
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
    if (typeof own !== 'string' || own === '' || !Object.hasOwn(element, value)) return false;
    names.add(own);
  }
  return names.size === array.length;
}

function isScalar(value: unknown): boolean {
  return (
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null
  );
}
