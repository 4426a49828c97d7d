import type { Histogram } from './histogram.ts';
import type { Metrics } from './metrics.ts';

/** Called for every store call with the operation, its duration in seconds, and the error code of a failure. */
export type ObserveStore = (op: string, seconds: number, errorCode: string | null) => void;

/**
 * Registers `tidegauge_store_seconds` and `tidegauge_store_errors_total`. Returns the function that updates them.
 *
 * @param errorCodes all that a store can report. Their counters are 0 from the start, so that a first error is an increase
 */
export function observeStore(metrics: Metrics, backend: string, errorCodes: readonly string[]): ObserveStore {
  const seconds = metrics.histogram('tidegauge_store_seconds', 'Duration of store calls');
  const histograms = new Map<string, Histogram>();
  const errors = new Map<string, number>(errorCodes.map((code) => [code, 0]));
  metrics.counter(
    'tidegauge_store_errors_total',
    'Store calls that failed, by error code',
    () => [...errors].map(([kind, value]) => ({ labels: { backend, kind }, value })),
    ['backend', 'kind'],
  );
  return (op, elapsed, errorCode) => {
    let histogram = histograms.get(op);
    if (histogram === undefined) {
      histogram = seconds.with({ backend, op });
      histograms.set(op, histogram);
    }
    histogram.observe(elapsed);
    if (errorCode !== null) errors.set(errorCode, (errors.get(errorCode) ?? 0) + 1);
  };
}
