import { fetchFor } from '@tidegauge/service';

/** Sums (seconds) and counts of a service's histograms at one moment, by name and labels. */
export type Scrape = ReadonlyMap<string, number>;

const LINE = /^(\w+_(?:sum|count))(?:\{(.*)\})? (\S+)$/gm;

/** Reads `/metrics` of a Tidegauge service. */
export async function scrape(service: string): Promise<Scrape> {
  const response = await fetchFor('read metrics', `${service}/metrics`, { timeoutMs: 30_000 });
  if (!response.ok) throw new Error(`${service}/metrics answered ${response.status}`);
  return parseScrape(await response.text());
}

export function parseScrape(text: string): Scrape {
  return new Map(
    [...text.matchAll(LINE)].map(([, name, labels, value]) => [`${name}{${labels ?? ''}}`, Number(value)]),
  );
}

/** Mean of what a histogram observed between two scrapes, over all series with these labels; null of nothing. */
export function meanBetween(
  before: Scrape,
  after: Scrape,
  name: string,
  labels: Readonly<Record<string, string>>,
): number | null {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const grown = (part: 'sum' | 'count'): number => {
    let total = 0;
    for (const [series, value] of after) {
      if (!series.startsWith(`${name}_${part}{`) || !wanted.every((label) => series.includes(label)))
        continue;
      total += value - (before.get(series) ?? 0);
    }
    return total;
  };
  const count = grown('count');
  return count > 0 ? grown('sum') / count : null;
}
