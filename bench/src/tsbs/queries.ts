/** A query of TSBS's use case cpu-only: a figure of some metrics for each interval, of some hosts together or of each host. */
export interface TsbsQuery {
  /** As TSBS sends it to InfluxDB. */
  readonly influxQl: string;
  readonly figure: 'max' | 'mean';
  readonly metrics: readonly string[];
  /** Null: all hosts, and each is in the answer itself. */
  readonly hosts: readonly string[] | null;
  /** Milliseconds since the epoch, inclusive. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly interval: Interval;
}

type Interval = '1m' | '1h';

/** Values by series (`host metric`, without the host if hosts are combined), and by the begin of the interval, ms. */
export type Figures = ReadonlyMap<string, ReadonlyMap<number, number>>;

const INTERVAL_MS = { '1m': 60_000, '1h': 3_600_000 } as const;
/** The path is in the binary output of `tsbs_generate_queries` as it is. Characters after it are no part of a URL. */
const PATH = /\/query\?q=([\w.~+%-]+)/g;
const SELECT =
  /^SELECT (.+) from cpu where (?:\((.+)\) and )?time >= '([^']+)' and time < '([^']+)' group by time\((1m|1h)\)(,hostname)?$/;
const RELATIVE_ERROR = 1e-9;

/** The queries in an output of `tsbs_generate_queries`. @throws {Error} there are none, or one has another form */
export function queriesIn(output: string): TsbsQuery[] {
  const found = [...output.matchAll(PATH)].map(([, q]) => new URLSearchParams(`q=${q}`).get('q')!);
  if (found.length === 0) throw new Error('tsbs_generate_queries gave no queries');
  return found.map(parseQuery);
}

/** Reads a query in InfluxQL. @throws {Error} it has another form */
export function parseQuery(influxQl: string): TsbsQuery {
  const [, select, where, from, to, interval, grouped] = SELECT.exec(influxQl) ?? [];
  const columns = [...(select ?? '').matchAll(/(max|mean)\((\w+)\)/g)];
  const hosts =
    where === undefined ? null : [...where.matchAll(/hostname = '([^']+)'/g)].map(([, host]) => host!);
  if (columns.length === 0 || (hosts === null) !== (grouped !== undefined))
    throw new Error(`TSBS has a query in another form: ${influxQl}`);
  return {
    influxQl,
    figure: columns[0]![1] as 'max' | 'mean',
    metrics: columns.map(([, , metric]) => metric!),
    hosts,
    from: Date.parse(from!),
    to: Date.parse(to!),
    interval: interval as Interval,
  };
}

/** The body of `POST /api/query` that requests the same figures. A host is a device, and its metrics begin with `cpu.`. */
export function openTsdbBody({ figure, metrics, hosts, from, to, interval }: TsbsQuery): object {
  const aggregator = figure === 'mean' ? 'avg' : 'max';
  const filter =
    hosts === null
      ? { type: 'wildcard', tagk: 'device', filter: '*', groupBy: true }
      : { type: 'literal_or', tagk: 'device', filter: hosts.join('|'), groupBy: false };
  return {
    start: from,
    end: to - 1,
    msResolution: true,
    queries: metrics.map((metric) => ({
      aggregator,
      metric: `cpu.${metric}`,
      downsample: `${interval}-${aggregator}`,
      filters: [filter],
    })),
  };
}

/** The figures in an answer of `POST /api/query`. */
export function openTsdbFigures(body: string, { hosts }: TsbsQuery): Figures {
  const results = JSON.parse(body) as readonly {
    readonly metric: string;
    readonly tags: { readonly device?: string };
    readonly dps: Readonly<Record<string, number>>;
  }[];
  return new Map(
    results.map(({ metric, tags, dps }) => [
      seriesName(hosts === null ? tags.device : undefined, metric.slice('cpu.'.length)),
      new Map(Object.entries(dps).map(([time, value]) => [Number(time), value])),
    ]),
  );
}

/** The figures in an answer of InfluxDB. @throws {Error} it is an error */
export function influxFigures(body: string, { metrics }: TsbsQuery): Figures {
  const { results } = JSON.parse(body) as {
    readonly results: readonly {
      readonly error?: string;
      readonly series?: readonly {
        readonly tags?: { readonly hostname: string };
        readonly values: readonly (readonly [time: string, ...values: (number | null)[]])[];
      }[];
    }[];
  };
  const [result] = results;
  if (result?.error !== undefined) throw new Error(`InfluxDB: ${result.error}`);
  const figures = new Map<string, Map<number, number>>();
  for (const { tags, values } of result?.series ?? []) {
    for (const [column, metric] of metrics.entries()) {
      const points = values.flatMap(([time, ...row]) => {
        const value = row[column] ?? null;
        return value === null ? [] : [[Date.parse(time), value] as const];
      });
      figures.set(seriesName(tags?.hostname, metric), new Map(points));
    }
  }
  return figures;
}

function seriesName(host: string | undefined, metric: string): string {
  return host === undefined ? metric : `${host} ${metric}`;
}

/**
 * Compares two answers in the intervals that are completely within the time of the query: InfluxDB cuts the first and the
 * last interval, and OpenTSDB does not.
 *
 * @returns the number of figures that are equal
 * @throws {Error} with the first difference, or when there are no figures
 */
export function compareFigures(one: Figures, other: Figures, query: TsbsQuery): number {
  let equal = 0;
  for (const [series, points] of one) {
    for (const [time, value] of wholeIntervals(points, query)) {
      const found = other.get(series)?.get(time);
      if (found === undefined || Math.abs(found - value) > RELATIVE_ERROR * Math.abs(value))
        throw new Error(
          `the answers differ: ${series} at ${new Date(time).toISOString()} is ${value} and ${found ?? 'missing'}: ${query.influxQl}`,
        );
      equal += 1;
    }
  }
  const others = [...other.values()].reduce((sum, points) => sum + wholeIntervals(points, query).length, 0);
  if (equal === 0 || others !== equal)
    throw new Error(`the answers have ${equal} and ${others} figures: ${query.influxQl}`);
  return equal;
}

function wholeIntervals(
  points: ReadonlyMap<number, number>,
  { from, to, interval }: TsbsQuery,
): (readonly [time: number, value: number])[] {
  return [...points].filter(([time]) => time >= from && time + INTERVAL_MS[interval] <= to);
}
