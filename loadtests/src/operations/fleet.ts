/** The devices and readings of the profiles `devices` and `queries`. Node and k6 compute each from its number. */

export const YEARS = 35;
export const FIRST_YEAR = 1990;
export const CITIES = [
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
/** 2026-01-01T00:00:00Z, in milliseconds. The readings of a device are one minute apart. */
const START_MS = 1_767_225_600_000;
const STEP_MS = 60_000;

interface FleetDevice {
  readonly site: string;
  readonly city: string;
  readonly kind: string;
  readonly year: number;
}

/** The name of a device. All names start with `fleet/`, so a run does not touch devices of other programs. */
export function deviceName(number: number): string {
  return `fleet/d${number}`;
}

/** The year of a device. Each of the 35 years has the same share of devices. */
export function deviceYear(number: number): number {
  return FIRST_YEAR + (number % YEARS);
}

export function deviceDocument(number: number): FleetDevice {
  const city = CITIES[number % CITIES.length]!;
  return {
    site: `site-${number % 100}`,
    city,
    kind: KINDS[number % KINDS.length]!,
    year: deviceYear(number),
  };
}

/** The time of a device's reading `index`, ISO 8601. */
export function readingTime(index: number): string {
  return new Date(START_MS + index * STEP_MS).toISOString();
}

export function readingValue(device: number, index: number): number {
  return ((device * 31 + index * 7) % 1000) / 10;
}

/** Maps a number in [0, 1) to one of the devices' years. */
export function yearAt(draw: number): number {
  return FIRST_YEAR + Math.floor(draw * YEARS);
}
