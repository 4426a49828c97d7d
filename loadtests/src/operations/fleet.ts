/** The devices and readings that `devices` and `queries` ask for: each follows from its number, in Node and in k6. */

const YEARS = 35;
const FIRST_YEAR = 1990;
const CITIES = [
  'Faro',
  'Porto',
  'Aveiro',
  'Braga',
  'Evora',
  'Lagos',
  'Tavira',
  'Sines',
  'Viseu',
  'Leiria',
] as const;
const KINDS = ['boiler', 'tide-gauge', 'weather', 'meter', 'pump'] as const;

export const METRIC = 'temperature';
/** 2026-01-01T00:00:00Z, milliseconds; readings of a device are a minute apart. */
const START_MS = 1_767_225_600_000;
const STEP_MS = 60_000;

/** Device names begin with it, so that a run meets nobody else's. */
export function deviceName(number: number): string {
  return `fleet/d${number}`;
}

/** One device in 35 is of each year. */
export function deviceYear(number: number): number {
  return FIRST_YEAR + (number % YEARS);
}

export function deviceDocument(number: number): object {
  const city = CITIES[number % CITIES.length];
  return { site: `site-${number % 100}`, city, kind: KINDS[number % KINDS.length], year: deviceYear(number) };
}

/** When reading `index` of a device was made, ISO 8601. */
export function readingTime(index: number): string {
  return new Date(START_MS + index * STEP_MS).toISOString();
}

export function readingValue(device: number, index: number): number {
  return ((device * 31 + index * 7) % 1000) / 10;
}

/** A year that devices have, from a number in [0, 1). */
export function yearAt(draw: number): number {
  return FIRST_YEAR + Math.floor(draw * YEARS);
}
