import { forEach } from '@tidegauge/parallel';
import { ANNOTATION_METRIC, type Annotation } from '@tidegauge/readings';
import { compareText, type Store } from '@tidegauge/storage';
import { readAnnotations } from './annotations.ts';
import { combine } from './combine.ts';
import { tooLarge } from './errors.ts';
import { type Budget, Points } from './points.ts';
import { ratesOf } from './rate.ts';
import { planOf, readSeries, type Span } from './read-series.ts';
import type { SubQuery } from './sub-query.ts';
import { TAG_KEYS, type TagKey } from './tag-keys.ts';
import { matchingDevices, type TaggedDevice, type Tags } from './tags.ts';

/** The most series that one query reads, and the most devices whose series it looks for. */
const MAX_SERIES = 2000;
const MAX_DEVICES = 100_000;
const SERIES_AT_ONCE = 4;

/** One series of an answer. */
export interface Result {
  readonly query: SubQuery;
  readonly tags: ReadonlyMap<TagKey, string>;
  /** Tags that differ between the series that were combined. */
  readonly aggregateTags: readonly TagKey[];
  readonly points: Points;
  /** Of a query for the metric of annotations, which has no points. */
  readonly annotations?: readonly Annotation[];
}

interface Series extends TaggedDevice {
  points: Points;
}

export interface QueryOptions {
  readonly span: Span;
  /** Whether the times of the answer are seconds. */
  readonly inSeconds: boolean;
  /** The device that the sender is limited to, with those below it; null for all. */
  readonly within: string | null;
  readonly budget: Budget;
}

/**
 * Reads and combines the series of a sub query, one result for each combination of the values of the tags that it is
 * grouped by, in the order of these values.
 *
 * @throws {Problem} 413 when there are too many series or points, or it takes too long
 */
export async function runSubQuery(
  store: Store,
  query: SubQuery,
  { span, inSeconds, within, budget }: QueryOptions,
): Promise<Result[]> {
  const { aggregator, metric, filters, rate } = query;
  if (metric === ANNOTATION_METRIC) {
    const annotations = await readAnnotations(store, filters, { span, within, budget });
    const result = { query, tags: new Map(), aggregateTags: [], points: new Points(budget), annotations };
    return annotations.length === 0 ? [] : [result];
  }
  const plan = planOf(query, span, inSeconds);
  const found: Series[] = [];
  let looked = 0;
  await forEach(matchingDevices(store, filters, within, budget), SERIES_AT_ONCE, async ({ device, tags }) => {
    looked += 1;
    if (looked > MAX_DEVICES) throw tooManySeries(metric, `${MAX_DEVICES} devices`);
    if (query.explicitTags && !hasOnly(tags, query)) return;
    const points = await readSeries(store, { device, metric }, plan, budget);
    if (points.length === 0) return;
    if (found.length === MAX_SERIES) throw tooManySeries(metric, `${MAX_SERIES} series`);
    found.push({ device, tags, points: rate === null ? points : ratesOf(points, rate, budget) });
  });
  found.sort((a, b) => compareText(a.device, b.device));
  if (aggregator === null) {
    return found.map(({ tags, points }) => ({ query, tags, aggregateTags: [], points }));
  }
  const results: Result[] = [];
  for (const group of groupsOf(found, query)) {
    const members = group.map(({ points }) => points);
    const points = await combine(members, aggregator, rate !== null, budget);
    for (const each of members) each.clear();
    results.push({ query, ...commonTags(group), points });
  }
  return results;
}

function tooManySeries(metric: string, number: string) {
  return tooLarge(`The query for ${metric} selects more than ${number}: select fewer devices with filters.`);
}

function hasOnly(tags: Tags, { filters }: SubQuery): boolean {
  return [...tags.keys()].every((key) => filters.some((each) => each.key === key));
}

/** The series by the values of the tags that group. A series without such a tag is in no group. */
function groupsOf(series: readonly Series[], { filters }: SubQuery): Series[][] {
  const keys = TAG_KEYS.filter((key) => filters.some((each) => each.key === key && each.groupBy));
  const groups = new Map<string, Series[]>();
  for (const each of series) {
    const values = keys.map((key) => each.tags.get(key));
    if (values.includes(undefined)) continue;
    const name = JSON.stringify(values);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [each]);
    else group.push(each);
  }
  return [...groups].sort(([a], [b]) => compareText(a, b)).map(([, group]) => group);
}

/** A tag that only some of the series have is no common one. */
function commonTags(group: readonly Series[]): Pick<Result, 'tags' | 'aggregateTags'> {
  const tags = new Map<TagKey, string>();
  const aggregateTags: TagKey[] = [];
  for (const key of TAG_KEYS) {
    const values = new Set(group.map((each) => each.tags.get(key)));
    const [value] = values;
    if (values.size > 1) aggregateTags.push(key);
    else if (value !== undefined) tags.set(key, value);
  }
  return { tags, aggregateTags };
}
