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

function parseScrape(text: string): Scrape {
  return new Map(
    [...text.matchAll(LINE)].map(([, name, labels, value]) => [`${name}{${labels ?? ''}}`, Number(value)]),
  );
}
