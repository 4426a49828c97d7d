import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import { Histogram, type Scale, SECONDS } from './histogram.ts';

type Labels = Readonly<Record<string, string>>;

/** A value read when Prometheus asks: hot paths keep plain numbers and pay nothing for metrics. */
export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/**
 * The metrics of one process. Counters and gauges are read from the
 * program's own numbers at scrape time, so what a scrape shows and what the program believes cannot differ.
 */
export class Metrics {
  readonly registry = new Registry();

  constructor() {
    // Its event-loop monitor wakes the process that often; at the default of 10 ms it is most of an idle service's CPU.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 500 });
  }

  /** A counter whose samples `read` returns; each must only grow. */
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

  /** A histogram per combination of labels, each made on first use and kept. */
  histogram(name: string, help: string, scale: Scale = SECONDS): HistogramMetric {
    const metric = new HistogramMetric(name, help, scale);
    // The registry asks a metric only for its name and `get()`.
    this.registry.registerMetric(metric as unknown as Metric<string>);
    return metric;
  }

  /** The Prometheus text format, version 0.0.4. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}

/** `reset` leaves a metric without labels at 0, though nothing was read. */
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

  /** The histogram of one combination of labels; callers on a hot path keep it. */
  with(labels: Labels): Histogram {
    const known = this.#children.get(JSON.stringify(labels));
    return known?.histogram ?? this.adopt(labels, new Histogram(this.#scale));
  }

  /** Shows a histogram that the program keeps itself. */
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
