import { showNumber } from '../results/show-number.ts';
import { textTable } from '../results/table.ts';
import type { Missing } from './judge.ts';
import type { Happened, Run } from './run-profile.ts';
import type { Sample } from './timeline.ts';

const MIB = 1024 * 1024;
/** Missing readings and messages in the text. The JSON has more. */
const MOST_PRINTED = 20;
/** A recovery that is shorter gives no rate. */
const LEAST_DRAIN_S = 1;

/** What followed a fault. */
export interface Recovery extends Happened {
  /** From its end until everything that was due before its end was stored. null: not before the end of the run. */
  readonly recoverySeconds: number | null;
  /** Readings stored per second in this time. null: it is too short. */
  readonly drainPerSecond: number | null;
}

export interface Figures extends Omit<Run, 'faults'> {
  readonly faults: readonly Recovery[];
  readonly recoverySeconds: number | null;
  readonly drainPerSecond: number | null;
  readonly failures: readonly string[];
}

/** Adds what follows from the samples and from the comparison with the store. */
export function figuresOf(run: Run): Figures {
  const faults = run.faults.map((fault) => ({ ...fault, ...recoveryOf(fault, run.samples) }));
  const known = (values: readonly (number | null)[]): number[] => values.filter((value) => value !== null);
  const times = known(faults.map(({ recoverySeconds }) => recoverySeconds));
  const rates = known(faults.map(({ drainPerSecond }) => drainPerSecond));
  return {
    ...run,
    faults,
    recoverySeconds: times.length === 0 ? null : Math.max(...times),
    drainPerSecond: rates.length === 0 ? null : Math.max(...rates),
    failures: failuresOf(run),
  };
}

function recoveryOf(
  { end }: Happened,
  samples: readonly Sample[],
): Pick<Recovery, 'recoverySeconds' | 'drainPerSecond'> {
  const first = samples.find(({ at }) => at >= end);
  const recovered = samples.find(({ at, storedUntil }) => at >= end && storedUntil >= end);
  if (first === undefined || recovered === undefined) return { recoverySeconds: null, drainPerSecond: null };
  const seconds = recovered.at - first.at;
  const stored = recovered.stored - first.stored;
  return {
    recoverySeconds: recovered.at - end,
    drainPerSecond: seconds < LEAST_DRAIN_S ? null : stored / seconds,
  };
}

function failuresOf({ published, acknowledged, readings, quarantine, problems }: Run): string[] {
  const failures: string[] = [];
  if (readings.missing > 0) failures.push(`${readings.missing} acknowledged readings are not in the store`);
  if (readings.duplicate > 0) failures.push(`${readings.duplicate} readings are stored twice`);
  if (quarantine.missing.length > 0)
    failures.push(`${quarantine.missing.length} acknowledged messages are not in the quarantine`);
  if (acknowledged < published) failures.push(`${published - acknowledged} messages were never acknowledged`);
  return [...failures, ...problems];
}

export function textOf(title: string, figures: Figures): string {
  const { readings, quarantine, broker, faults, failures } = figures;
  const undecodable: readonly (readonly string[])[] =
    quarantine.acknowledged === 0
      ? []
      : [
          ['undecodable, acknowledged', show(quarantine.acknowledged)],
          ['in quarantine', show(quarantine.kept)],
          ['missing in quarantine', show(quarantine.missing.length)],
        ];
  const table = textTable([
    ['messages published', show(figures.published)],
    ['messages acknowledged', show(figures.acknowledged)],
    ...(broker.messages === 0 ? [] : [['lost by the broker', show(broker.messages)]]),
    ['readings acknowledged', show(readings.acknowledged)],
    ['stored', show(readings.stored)],
    ['missing', show(readings.missing)],
    ['stored twice', show(readings.duplicate)],
    ...undecodable,
    ['received again', show(figures.redelivered)],
    ['faults', show(faults.length)],
    ['longest time to recover', orNone(figures.recoverySeconds, (value) => `${value.toFixed(1)} s`)],
    ['stored per second then', orNone(figures.drainPerSecond, show)],
    ['peak memory of ingest', `${(figures.peakBytes / MIB).toFixed(0)} MiB`],
    ['unexpected ends of ingest', show(figures.unexpectedEnds)],
  ]);
  const steps = textTable([
    ['fault', 'begin s', 'length s', 'recovery s', 'stored/s'],
    ...faults.map(({ fault, begin, end, recoverySeconds, drainPerSecond }) => [
      fault,
      begin.toFixed(1),
      (end - begin).toFixed(1),
      orNone(recoverySeconds, (value) => value.toFixed(1)),
      orNone(drainPerSecond, show),
    ]),
  ]);
  const lost = [
    ...readings.listed.map((each) => `missing: ${nameOf(each)}`),
    ...broker.listed.map((each) => `lost by the broker: ${nameOf(each)}`),
    ...quarantine.missing.map((number) => `missing in quarantine: message ${number}`),
  ];
  const listed = lost.slice(0, MOST_PRINTED).map((line) => `${line}\n`);
  if (lost.length > MOST_PRINTED) listed.push(`and ${lost.length - MOST_PRINTED} more, see --json\n`);
  const end = failures.length === 0 ? 'nothing acknowledged is missing, and nothing is stored twice\n' : '';
  return `\n${title}, ${figures.seconds.toFixed(0)} s\n${table}\n${steps}\n${listed.join('')}${end}`;
}

function nameOf({ device, first, last }: Missing): string {
  return `${device} seq ${first === last ? first : `${first} to ${last}`}`;
}

function orNone(value: number | null, text: (value: number) => string): string {
  return value === null ? '-' : text(value);
}

function show(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en') : showNumber(value);
}
