import {
  type DoubtfulName,
  type IgnoredFieldDocument,
  MAX_UNIT_LENGTH,
  type Notes,
  type UnitDocument,
} from '@tidegauge/readings';
import { copyString } from '@tidegauge/text';
import { ByteCache } from './byte-cache.ts';

/** Memory of the lists of ignored and doubtful fields of one route. */
const IGNORED_BYTES = 64 * 1024;
/** Approximate bytes of a listed field besides its texts. */
const FIELD_BYTES = 200;
/** Memory of the units of one route: about 2,000 series. */
const UNITS_BYTES = 512 * 1024;

/** Memory of the names of senders of one route that are in no series: about 500 devices. */
const NAMES_BYTES = 128 * 1024;
/** Characters of such a name that are compared. */
const LONGEST_NAME = 100;
const CHANGES = 'its value changes within one series; ';

interface IgnoredField {
  readonly reason: string;
  count: number;
}

/**
 * The notes of one route: which fields of its payloads are ignored or doubtful and why, and the units of its series. All are
 * bounded in bytes. Fields that do not fit are counted without their name, and units that are not used any more are
 * dropped.
 */
export class RouteNotes implements Notes {
  /** Messages without a value since the start, such as `unavailable`. They are acknowledged and not stored. */
  ignoredMessages = 0;
  /** Fields ignored since the start. A field of a record counts once for each record. */
  ignoredTotal = 0;
  /** The ignored fields whose names did not fit into the list. */
  ignoredUnlisted = 0;
  /** Called for each unit. `name` is device and metric with a space between them. */
  onUnit: ((name: string, device: string, metric: string, unit: string) => void) | null = null;

  readonly #ignored = new Map<string, IgnoredField>();
  readonly #doubts = new Map<string, IgnoredField>();
  #ignoredBytes = 0;
  /** The fields whose names of senders have changed. */
  readonly #changing = new Set<string>();
  /** The last of these names by device and field. */
  readonly #names = new ByteCache<string>(NAMES_BYTES, (name) => 2 * name.length);
  readonly #units = new ByteCache<UnitDocument>(UNITS_BYTES, bytesOf);

  ignored(field: string, why: string): void {
    this.ignoredTotal++;
    if (!this.#count(this.#ignored, field, why)) this.ignoredUnlisted++;
  }

  doubt(field: string, why: string, name?: DoubtfulName): void {
    const isListed = this.#count(this.#doubts, field, why);
    if (isListed && name !== undefined && !this.#changing.has(field)) this.#compare(field, name);
  }

  /** Remembers the name of a sender, and whether it has changed for a device. */
  #compare(field: string, { device, text }: DoubtfulName): void {
    const series = `${device} ${field}`;
    const name = text.slice(0, LONGEST_NAME);
    const before = this.#names.get(series);
    if (before === name) return;
    if (before === undefined) this.#names.set(series, copyString(name));
    else this.#changing.add(copyString(field));
  }

  /** Counts a field in a list; false if the list has no room for it. */
  #count(list: Map<string, IgnoredField>, field: string, why: string): boolean {
    const known = list.get(field);
    if (known !== undefined) {
      known.count++;
      return true;
    }
    const bytes = FIELD_BYTES + 2 * (field.length + why.length);
    if (this.#ignoredBytes + bytes > IGNORED_BYTES) return false;
    this.#ignoredBytes += bytes;
    list.set(copyString(field), { reason: copyString(why), count: 1 });
    return true;
  }

  unit(device: string, metric: string, unit: string): void {
    const name = `${device} ${metric}`;
    this.onUnit?.(name, device, metric, unit);
    if (this.#units.get(name)?.unit === unit || unit.length > MAX_UNIT_LENGTH) return;
    this.#units.set(name, { device, metric: copyString(metric), unit: copyString(unit) });
  }

  /** The ignored fields in the order of their first message, each with the reason of that message. */
  ignoredFields(): readonly IgnoredFieldDocument[] {
    return [...this.#ignored].map(([field, { reason, count }]) => ({ field, reason, count }));
  }

  /** The fields that were used with an assumption, as `ignoredFields` lists them. A name that has changed is marked. */
  doubts(): readonly IgnoredFieldDocument[] {
    return [...this.#doubts].map(([field, { reason, count }]) => ({
      field,
      reason: this.#changing.has(field) ? CHANGES + reason : reason,
      count,
    }));
  }

  /** The units of recently used series. */
  units(): readonly UnitDocument[] {
    return [...this.#units.values()];
  }
}

/** Bytes of a cached unit besides its name: the object, and its texts. */
function bytesOf({ device, metric, unit }: UnitDocument): number {
  return 100 + 2 * (device.length + metric.length + unit.length);
}
