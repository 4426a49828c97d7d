/** Free attributes: JSON scalars by name. */
export type Attributes = Readonly<Record<string, string | number | boolean | null>>;

/**
 * A registered device. Registered by hand, by API, or on its first reading (then only `name` is known).
 * In study S2's terms it plays the person: name, year of birth, city.
 */
export interface Device {
  readonly name: string;
  readonly site: string | null;
  readonly city: string | null;
  readonly kind: string | null;
  /** Year of installation. */
  readonly year: number | null;
  readonly attributes: Attributes;
}

/** A device of which nothing but its name is known. */
export function unknownDevice(name: string): Device {
  return { name, site: null, city: null, kind: null, year: null, attributes: {} };
}
