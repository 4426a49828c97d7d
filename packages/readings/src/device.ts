/** Additional attributes: JSON scalars by name. */
export type Attributes = Readonly<Record<string, string | number | boolean | null>>;

/** A registered device. It is registered through the API, or with its first reading (then only `name` is known). */
export interface Device {
  readonly name: string;
  readonly site: string | null;
  readonly city: string | null;
  readonly kind: string | null;
  /** Year of installation. */
  readonly year: number | null;
  readonly attributes: Attributes;
}

/** A device with a name only. */
export function unknownDevice(name: string): Device {
  return { name, site: null, city: null, kind: null, year: null, attributes: {} };
}
