import type { Driver } from '@tidegauge/experiments/model';

/** The level of `network` without a delay, with which the others are compared. */
export const REFERENCE = 'reference';

export interface TruthSizes {
  readonly records: number;
  /** Operations of a run, or its duration. */
  readonly operations: number | string;
  /** The warm-up is the first one. */
  readonly trials: number;
}

/** What is compared, and how. */
export interface TruthDesign {
  readonly stores: readonly string[];
  readonly drivers: readonly Driver[];
  readonly workload: string;
  /** With one, operations take turns, else slices do. */
  readonly threads: number;
  /** The factor whose levels are compared. */
  readonly compared: 'driver' | 'network' | 'store';
  /** Levels of `network`. Default: none. The place makes them. */
  readonly networks?: readonly string[];
  readonly metrics: readonly string[];
  /** Rules that differ from those of other experiments. */
  readonly valid: Readonly<Record<string, null>>;
}

/** The level of `network` that adds a share of the latency, in percent. */
export function delayLevel(percent: number): string {
  return `plus${percent}`;
}

/** The data of an experiment file, for one deployment whose levels take turns. */
export function truthStudy(design: TruthDesign, sizes: TruthSizes, seed: number): object {
  const { stores, drivers, workload, threads, compared, networks, metrics, valid } = design;
  const { records, operations, trials } = sizes;
  return {
    study: 'truths',
    seed,
    hard: { store: stores, ...(networks === undefined ? {} : { network: networks }) },
    easy: { workload, driver: drivers },
    fixed: { threads, records, operations },
    repeat: {
      deployments: 1,
      trials,
      warmup: 1,
      pairing: threads === 1 ? 'operation' : 'slice',
      paired: compared === 'driver' ? [] : [compared],
    },
    ...(networks === undefined
      ? {}
      : { networks: Object.fromEntries(networks.map((name) => [name, { delay: '0s' }])) }),
    valid,
    analyse: { metrics, groups: compared },
    figures: ['bars'],
  };
}
