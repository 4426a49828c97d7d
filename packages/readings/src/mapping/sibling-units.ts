import { unitProblem } from '../reading.ts';
import { isUnit, writtenUnit } from './units.ts';

// Units that fields of an object state for other fields of the same object: {"value": 21.5, "unit": "°C"}

/** Fields with the unit of the value beside them. */
const UNITS = ['unit', 'units', 'unit_of_measurement', 'uom'];
/** Fields with the unit of another field: `temperature_unit`, `temperature_unit_of_measurement`, `temperatureUnit`. */
const OF_ANOTHER = /^(.+?)(?:[_.-](?:unit|units|unit_of_measurement|uom)|Units?)$/;
/** The value of an object. */
const VALUES = ['v', 'value'];

/** The units that fields of an object state. */
export interface SiblingUnits {
  /** The fields with units. They are no metrics. */
  readonly stated: ReadonlySet<string>;
  /** The unit of each field that has one. */
  readonly of: ReadonlyMap<string, string>;
}

/** Whether a field can be a unit, by its name. It is fast, for the hot path. */
export function mayStateUnit(field: string): boolean {
  const last = field.charCodeAt(field.length - 1);
  // t, s, m: unit, units, uom, unit_of_measurement
  return (last === 0x74 || last === 0x73 || last === 0x6d) && /units?$|uom$|measurement$/i.test(field);
}

/**
 * The units in the fields of an object; null without any. A text is a unit
 *
 * - in `unit`, `units`, `unit_of_measurement` or `uom` beside `v` or `value`, and beside no other field: in
 *   {"unit": "C", "interval": 60} it is a setting,
 * - in `temperature_unit` or `temperatureUnit` beside `temperature`.
 *
 * An empty text there is no metric either. Beside a text, only a known unit is one.
 */
export function siblingUnits(fields: Readonly<Record<string, unknown>>): SiblingUnits | null {
  const stated = new Set<string>();
  const of = new Map<string, string>();
  for (const field in fields) {
    const raw = fields[field];
    if (typeof raw !== 'string' || !mayStateUnit(field)) continue;
    const unit = raw.trim();
    if (unit !== '' && unitProblem(unit) !== null) continue;
    const measured = UNITS.includes(field)
      ? VALUES.find((name) => Object.hasOwn(fields, name))
      : otherField(field);
    if (measured === undefined || of.has(measured) || !canHave(unit, fields, measured)) continue;
    stated.add(field);
    if (unit !== '') of.set(measured, writtenUnit(unit));
  }
  return stated.size === 0 ? null : { stated, of };
}

function otherField(field: string): string | undefined {
  return OF_ANOTHER.exec(field)?.[1];
}

/** Whether the value of a field can have a unit: a number, no value at the moment, or a text with a known unit. */
function canHave(unit: string, fields: Readonly<Record<string, unknown>>, field: string): boolean {
  const value = Object.hasOwn(fields, field) ? fields[field] : undefined;
  return typeof value === 'number' || value === null || (typeof value === 'string' && isUnit(unit));
}
