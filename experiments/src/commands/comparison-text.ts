export interface Comparison {
  readonly stores: readonly string[];
  readonly workload: string;
  readonly threads: number;
  readonly records: number;
  readonly operations: number;
  readonly repeat: number;
}

/** Sizes of `--quick`. */
const QUICK = { records: 1000, operations: 1000, trials: 5 };

/** The text of an experiment file that compares stores. It is JSON, which is YAML too. */
export function comparisonText({ stores, workload, repeat, ...fixed }: Comparison): string {
  const study = {
    study: 'compare-stores',
    title: `${stores.join(', ')} with workload ${workload}`,
    question: `Which of ${stores.join(', ')} serves workload ${workload} best, and what does the API add?`,
    hard: { store: stores },
    easy: { workload, driver: ['raw', 'app'] },
    fixed,
    // The first trial warms up processes and caches.
    repeat: { deployments: 1, trials: repeat + 1, warmup: 1 },
    quick: {
      records: Math.min(fixed.records, QUICK.records),
      operations: Math.min(fixed.operations, QUICK.operations),
      trials: Math.min(repeat, QUICK.trials) + 1,
    },
  };
  return `${JSON.stringify(study, null, 2)}\n`;
}
