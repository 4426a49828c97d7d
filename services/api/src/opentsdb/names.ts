import { createHash } from 'node:crypto';
import { forEach } from '@tidegauge/parallel';
import { ALL_DEVICES, ANNOTATION_METRIC } from '@tidegauge/readings';
import { compareText, MAX_METRICS_READ, type Store } from '@tidegauge/storage';
import { devicesOf } from '../device-list.ts';
import type { Selection } from './expression.ts';
import { FilterRoom, filterOf } from './filters.ts';
import { Budget } from './points.ts';
import { TAG_KEYS } from './tag-keys.ts';
import { matchingDevices, tagsOf } from './tags.ts';

/** How long names are used before they are read again, milliseconds. */
const FRESH_MS = 60_000;
/** How long reading names may take, milliseconds. */
const READ_MS = 10_000;
const DEVICES_AT_ONCE = 4;
/** The most names that are kept for one limit of devices, and the most limits. */
const MAX_NAMES = 10_000;
const MAX_LIMITS = 8;

/** One series of a lookup. */
export interface FoundSeries {
  /** Identifies the series. */
  readonly tsuid: string;
  readonly metric: string;
  readonly tags: Readonly<Record<string, string>>;
}

interface Names {
  readonly at: number;
  /** Sorted. */
  readonly names: Promise<readonly string[]>;
}

/**
 * Names of metrics, tags and series. The store has the metrics of each device only, so the names of all metrics are
 * kept for a minute.
 */
export class SeriesNames {
  readonly #store: Store;
  readonly #metrics = new Map<string | null, Names>();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * The first names of a kind that begin with a text, sorted.
   *
   * @param within the device that the sender is limited to, with those below it; null for all
   */
  async suggest(
    kind: 'metrics' | 'tagk' | 'tagv',
    start: string,
    most: number,
    within: string | null,
  ): Promise<string[]> {
    const names = await this.#namesOf(kind, start, within);
    return names.filter((name) => name.startsWith(start)).slice(0, most);
  }

  /**
   * The first series that match, by device. The metric `*` selects all but annotations, which have no values.
   *
   * @param isGone whether the client has left
   * @throws {Problem} 400, or 413 when it takes too long
   */
  async lookUp(
    { metric, filters: documents }: Selection,
    most: number,
    within: string | null,
    isGone?: () => boolean,
  ): Promise<FoundSeries[]> {
    const found: FoundSeries[] = [];
    const room = new FilterRoom();
    const filters = documents.map((each) => filterOf(each, room));
    const budget = new Budget(0, READ_MS / 1000, isGone);
    for await (const { device, tags } of matchingDevices(this.#store, filters, within, budget)) {
      const metrics = await this.#store.readings.metrics(device, MAX_METRICS_READ);
      for (const name of metrics.sort(compareText)) {
        if (metric === '*' ? name === ANNOTATION_METRIC : name !== metric) continue;
        found.push({ tsuid: identityOf(device, name), metric: name, tags: Object.fromEntries(tags) });
        if (found.length === most) return found;
      }
    }
    return found;
  }

  async #namesOf(
    kind: 'metrics' | 'tagk' | 'tagv',
    start: string,
    within: string | null,
  ): Promise<readonly string[]> {
    if (kind === 'tagk') return [...TAG_KEYS].sort();
    return kind === 'tagv' ? this.#valuesOfTags(start, within) : this.#metricNames(within);
  }

  async #valuesOfTags(start: string, within: string | null): Promise<readonly string[]> {
    const values = new Set<string>();
    const end = performance.now() + READ_MS;
    for await (const device of devicesOf(this.#store, {}, Number.POSITIVE_INFINITY, within)) {
      if (device.name === ALL_DEVICES) continue;
      for (const value of tagsOf(device).values()) if (value.startsWith(start)) values.add(value);
      if (values.size >= MAX_NAMES || performance.now() > end) break;
    }
    return [...values].sort(compareText);
  }

  #metricNames(within: string | null): Promise<readonly string[]> {
    const known = this.#metrics.get(within);
    if (known !== undefined && performance.now() - known.at < FRESH_MS) return known.names;
    const [oldest] = this.#metrics.keys();
    this.#metrics.delete(this.#metrics.size >= MAX_LIMITS ? oldest! : within);
    const names = this.#readMetricNames(within);
    this.#metrics.set(within, { at: performance.now(), names });
    // A failure is not kept.
    names.catch(() => this.#metrics.delete(within));
    return names;
  }

  /** Names that are not found in time are missing: there are too many devices. */
  async #readMetricNames(within: string | null): Promise<readonly string[]> {
    const names = new Set<string>();
    const end = performance.now() + READ_MS;
    const devices = devicesOf(this.#store, {}, Number.POSITIVE_INFINITY, within);
    await forEach(
      until(devices, () => names.size >= MAX_NAMES || performance.now() > end),
      DEVICES_AT_ONCE,
      async ({ name }) => {
        for (const metric of await this.#store.readings.metrics(name, MAX_METRICS_READ)) names.add(metric);
      },
    );
    names.delete(ANNOTATION_METRIC);
    return [...names].sort(compareText);
  }
}

/** The tags that a lookup shows for its own query. */
export function pairsOf({ filters }: Selection): { key: string; value: string }[] {
  return filters.map(({ tagk, filter }) => ({ key: tagk, value: filter }));
}

async function* until<T>(items: AsyncIterable<T>, isOver: () => boolean): AsyncGenerator<T> {
  for await (const item of items) {
    if (isOver()) return;
    yield item;
  }
}

function identityOf(device: string, metric: string): string {
  return createHash('sha256').update(`${metric}\0${device}`).digest('hex').slice(0, 24).toUpperCase();
}
