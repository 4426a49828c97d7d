import { hostname } from 'node:os';
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import { Histogram, type Scale, SECONDS } from './histogram.ts';

type Labels = Readonly<Record<string, string>>;

/** A value that is read at scrape time, so that hot paths only maintain plain numbers. */
export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/**
 * The metrics of one process. Counters and gauges are read from the program's own numbers at scrape time, so metrics
 * and program cannot differ.
 *
 * @example
 * const metrics = new Metrics();
 * let received = 0;
 * metrics.counter('tidegauge_messages_total', 'Messages received', () => [{ value: received }]);
 */
export class Metrics {
  readonly registry = new Registry();
  #page: () => Promise<string> = () => this.registry.metrics();

  /** @param board the name of the board. Null: the host name */
  constructor(board: string | null = null) {
    // The event-loop monitor wakes the process at this interval. The default of 10 ms causes most of the CPU time of
    // an idle service.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 500 });
    const labels = { nodename: board ?? hostname() };
    const help = 'Always 1. The label nodename is the name of the board';
    this.gauge('tidegauge_board_info', help, () => [{ labels, value: 1 }], ['nodename']);
  }

  /** Registers a counter. `read` returns its samples; each must only grow. */
  counter(
    name: string,
    help: string,
    read: () => Iterable<Sample>,
    labelNames: readonly string[] = [],
  ): void {
    new Counter({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        empty(this, labelNames);
        for (const { labels, value } of read()) this.inc(labels ?? {}, value);
      },
    });
  }

  gauge(name: string, help: string, read: () => Iterable<Sample>, labelNames: readonly string[] = []): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        empty(this, labelNames);
        for (const { labels, value } of read()) this.set(labels ?? {}, value);
      },
    });
  }

  /** Registers a histogram with one child per combination of labels, created on first use. */
  histogram(name: string, help: string, scale: Scale = SECONDS): HistogramMetric {
    const metric = new HistogramMetric(name, help, scale);
    // The registry only uses the name and `get()` of a metric.
    this.registry.registerMetric(metric as unknown as Metric<string>);
    return metric;
  }

  /** The Prometheus text format, version 0.0.4. */
  text(): Promise<string> {
    return this.#page();
  }

  /** Has another process make the page, which adds its figures and those of further processes. */
  pageFrom(page: () => Promise<string>): void {
    this.#page = page;
  }
}

/** After `reset` a metric without labels still has the sample 0, so it is removed. */
function empty(metric: Counter<string> | Gauge<string>, labelNames: readonly string[]): void {
  metric.reset();
  if (labelNames.length === 0) metric.remove();
}

export class HistogramMetric {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly #children = new Map<string, { labels: Labels; histogram: Histogram }>();
  readonly #scale: Scale;

  constructor(name: string, help: string, scale: Scale) {
    this.name = name;
    this.help = help;
    this.#scale = scale;
  }

  /** The histogram of one combination of labels. Callers on a hot path keep it. */
  with(labels: Labels): Histogram {
    const known = this.#children.get(JSON.stringify(labels));
    return known?.histogram ?? this.adopt(labels, new Histogram(this.#scale));
  }

  /** Adds a histogram that the program maintains. */
  adopt(labels: Labels, histogram: Histogram): Histogram {
    this.#children.set(JSON.stringify(labels), { labels, histogram });
    return histogram;
  }

  async get(): Promise<unknown> {
    const values = [];
    for (const { labels, histogram } of this.#children.values()) {
      const { buckets, sum, count } = histogram.snapshot();
      for (const [le, value] of buckets)
        values.push(sample(`${this.name}_bucket`, { ...labels, le: String(le) }, value));
      values.push(sample(`${this.name}_bucket`, { ...labels, le: '+Inf' }, count));
      values.push(sample(`${this.name}_sum`, labels, sum), sample(`${this.name}_count`, labels, count));
    }
    return { name: this.name, help: this.help, type: this.type, values };
  }
}

function sample(metricName: string, labels: Labels, value: number) {
  return { metricName, labels, value };
}
