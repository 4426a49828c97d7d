import { seeded } from '../../../packages/workload/src/index.ts';
import { deviceName, METRIC, readingTime, yearAt } from './fleet.ts';
import type { QueriesPart } from './plan.ts';

/** Number of queries, from a read of one row to an aggregate over a group of devices; `QUERY-1` etc. in the summary. */
export const QUERY_COUNT = 10;
const GROUP = 20;

/** Sends the requests of a query one after the other. A request can depend on the previous response. */
export type Query = (get: (path: string) => string | null) => void;

/**
 * The queries of one thread. They read only the first `share` percent of the devices and of the loaded time. So the
 * same store can be measured with a share that fits in memory, and with all of its data.
 */
export class Queries {
  readonly #random: { below(bound: number): number; double(): number };
  readonly #devices: number;
  readonly #readings: number;
  readonly #only: number | null;

  constructor({ devices, readings, share, query }: QueriesPart, seed: number, thread: number) {
    this.#random = seeded(seed, thread);
    this.#devices = Math.max(1, Math.floor((devices * share) / 100));
    this.#readings = Math.max(1, Math.floor((readings * share) / 100));
    this.#only = query;
  }

  /** The next query and its number, from 1. */
  next(): readonly [number: number, query: Query] {
    const number = this.#only ?? 1 + this.#random.below(QUERY_COUNT);
    return [number, this.#query(number)];
  }

  #query(number: number): Query {
    const device = encodeURIComponent(this.#device());
    const series = `device=${device}&metric=${METRIC}`;
    const year = yearAt(this.#random.double());
    const whole = `from=${readingTime(0)}&to=${readingTime(this.#readings)}`;
    switch (number) {
      case 1:
        return (get) => get(`/v1/devices/${decodeURIComponent(device)}`);
      case 2:
        return (get) => get(`/v1/readings/latest?device=${device}`);
      case 3:
        return (get) => get(`/v1/readings?${series}&limit=10`);
      case 4:
        return (get) => get(`/v1/readings?${series}&${this.#hour()}&limit=100&order=asc`);
      case 5:
        return (get) => get(`/v1/readings?device=${device}&limit=1000`);
      case 6:
        return (get) => get(`/v1/readings/latest?${this.#group()}`);
      case 7:
        return (get) => get(`/v1/readings/aggregate?${series}&${this.#hour()}&bucket=5m`);
      case 8:
        return (get) => get(`/v1/readings/aggregate?${series}&${whole}&bucket=1d`);
      case 9:
        return (get) => {
          const names = namesIn(get(`/v1/devices?year=${year}&limit=${GROUP}`));
          if (names.length > 0) get(`/v1/readings/latest?${names.map(asDevice).join('&')}`);
        };
      default:
        return (get) => {
          for (const name of namesIn(get(`/v1/devices?year=${year}&limit=${GROUP}`))) {
            get(`/v1/readings/aggregate?${asDevice(name)}&metric=${METRIC}&${whole}&bucket=1d`);
          }
        };
    }
  }

  #device(): string {
    return deviceName(this.#random.below(this.#devices));
  }

  #group(): string {
    return Array.from({ length: GROUP }, () => asDevice(this.#device())).join('&');
  }

  /** A random time range of sixty readings within the share. */
  #hour(): string {
    const first = this.#random.below(Math.max(1, this.#readings - 60));
    return `from=${readingTime(first)}&to=${readingTime(first + 60)}`;
  }
}

function asDevice(name: string): string {
  return `device=${encodeURIComponent(name)}`;
}

function namesIn(body: string | null): string[] {
  if (body === null) return [];
  return (JSON.parse(body) as { readonly devices: { readonly name: string }[] }).devices.map(
    ({ name }) => name,
  );
}
