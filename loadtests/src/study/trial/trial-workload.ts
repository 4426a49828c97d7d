import { createHash } from 'node:crypto';
import type { RecordWorkload } from '@tidegauge/workload';
import { readWorkload } from '../../profiles/records-profile.ts';
import type { Combination, Driver, Level, SeriesPlan, Study } from '../model.ts';

/** What the levels of a series mean for its drivers. Plain data: it goes to the driver program. */
export interface TrialSettings {
  /** A letter, or the path of a property file. */
  readonly workload: string;
  /** Properties of YCSB that the factors set. */
  readonly properties: Readonly<Record<string, string>>;
  readonly threads: number;
  readonly operations: number;
  /** Operations per second over all threads. null: as fast as the store answers. */
  readonly rate: number | null;
}

const PROPERTIES: Readonly<Record<string, string>> = {
  records: 'recordcount',
  operations: 'operationcount',
  fields: 'fieldcount',
  length: 'fieldlength',
  distribution: 'requestdistribution',
};

/** Levels of all factors of a run, with the driver. */
export function factorsOf(hard: Combination, series: SeriesPlan, study: Study, driver: Driver): Combination {
  return { ...study.fixed, ...hard, ...series.easy, driver };
}

/** @throws {TypeError} when a factor that every trial needs has no level */
export function trialSettings(factors: Combination): TrialSettings {
  const properties: Record<string, string> = {};
  for (const [factor, property] of Object.entries(PROPERTIES)) {
    const level = factors[factor];
    if (level !== undefined && level !== 'default') properties[property] = String(level);
  }
  const target = numberOf(factors, 'target', 0);
  return {
    workload: String(factors.workload),
    properties,
    threads: numberOf(factors, 'threads', 1),
    operations: numberOf(factors, 'operations'),
    rate: target > 0 ? target : null,
  };
}

/** @throws {ConfigError} for an unknown workload or property */
export function recordWorkloadOf({ workload, properties }: TrialSettings): RecordWorkload {
  return readWorkload(workload, properties);
}

/** The seed of a trial. All drivers and attempts of a trial have the same one: they do the same operations. */
export function trialSeed(study: Study, series: SeriesPlan, trial: number): number {
  const digest = createHash('sha256').update(`${study.seed} ${series.id} ${trial}`).digest();
  return digest.readUInt32BE(0);
}

function numberOf(factors: Combination, name: string, absent?: number): number {
  const level: Level | undefined = factors[name] ?? absent;
  const value = Number(level);
  if (level === undefined || !Number.isFinite(value)) {
    throw new TypeError(`the factor ${name} needs a number, and has ${level}`);
  }
  return value;
}
