import { createHash } from 'node:crypto';
import { ReadLoad } from '@tidegauge/loadtests/operations/read-load';
import { allLevels, type RunLength, runLength, type StudyWorkload, workloadOf } from '../levels.ts';
import type { Combination, Level, SeriesPlan, Study } from '../model.ts';

/** What the levels of a series mean for its drivers. Plain data: it goes to the driver program. */
export interface TrialSettings {
  readonly workload: StudyWorkload;
  readonly threads: number;
  readonly length: RunLength;
  /** Operations per second over all threads. null: as fast as the store answers. */
  readonly rate: number | null;
  /** Whether a node of the store is killed during each run. */
  readonly killsNode: boolean;
}

/**
 * @throws {WorkloadError} for a property file with a mistake
 * @throws {TypeError} when a factor that every trial needs has no level
 */
export function trialSettings(hard: Combination, series: SeriesPlan, study: Study): TrialSettings {
  const levels = allLevels(study, hard, series.easy);
  const target = numberOf(levels, 'target', 0);
  return {
    workload: workloadOf(study, levels),
    threads: numberOf(levels, 'threads', 1),
    length: runLength(levels),
    rate: target > 0 ? target : null,
    killsNode: levels.fault === 'kill-node',
  };
}

/** What is loaded for a workload: the number of records, and all on which the loaded data depend, except their seed. */
export function loadOf(workload: StudyWorkload): { readonly records: number; readonly facts: object } {
  if (workload.set === 'devices') return { records: workload.devices, facts: { devices: workload.devices } };
  if (workload.set === 'queries') {
    const { size, volume } = workload;
    return { records: new ReadLoad(size, volume).readings, facts: { readings: size, volume } };
  }
  const { records } = workload;
  const { recordCount, insertStart, insertCount, insertOrder, zeroPadding } = records;
  const { fieldCount, fieldLength, dataIntegrity } = records;
  return {
    records: insertCount,
    facts: {
      ...{ recordCount, insertStart, insertCount, insertOrder, zeroPadding },
      ...{ fieldCount, fieldLength, dataIntegrity },
    },
  };
}

/** The seed of a trial. All runs of a round and all attempts have the same one: they do the same operations. */
export function trialSeed(study: Study, series: SeriesPlan, trial: number): number {
  const digest = createHash('sha256')
    .update(`${study.seed} ${series.round ?? series.id} ${trial}`)
    .digest();
  return digest.readUInt32BE(0);
}

function numberOf(levels: Combination, name: string, absent?: number): number {
  const level: Level | undefined = levels[name] ?? absent;
  const value = Number(level);
  if (level === undefined || !Number.isFinite(value)) {
    throw new TypeError(`the factor ${name} needs a number, and has ${level}`);
  }
  return value;
}
