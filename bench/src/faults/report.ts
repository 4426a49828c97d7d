import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { textTable } from '@tidegauge/loadtests/results/table';
import type { Period } from './acknowledgement-times.ts';
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
  /** Seconds to the acknowledgement of live messages that were due in this time, 99 %. null: too short, or not known. */
  readonly p99Seconds: number | null;
}

export interface Figures extends Omit<Run, 'faults' | 'times'> {
  readonly faults: readonly Recovery[];
  readonly recoverySeconds: number | null;
  readonly drainPerSecond: number | null;
  /** The longest of the faults. */
  readonly p99Seconds: number | null;
  /** The same for messages that were due before a fault or after the recovery. */
  readonly calmP99Seconds: number | null;
  readonly failures: readonly string[];
}

/** Adds what follows from the samples and from the comparison with the store. */
export function figuresOf(run: Run): Figures {
  const { times: acknowledgements, ...rest } = run;
  const faults = run.faults.map((fault) => {
    const recovery = recoveryOf(fault, run.samples);
    const until = fault.end + (recovery.recoverySeconds ?? 0);
    return { ...fault, ...recovery, p99Seconds: acknowledgements?.p99([[fault.end, until]]) ?? null };
  });
  const known = (values: readonly (number | null)[]): number[] => values.filter((value) => value !== null);
  const times = known(faults.map(({ recoverySeconds }) => recoverySeconds));
  const rates = known(faults.map(({ drainPerSecond }) => drainPerSecond));
  const slowest = known(faults.map(({ p99Seconds }) => p99Seconds));
  return {
    ...rest,
    faults,
    recoverySeconds: mostOf(times),
    drainPerSecond: mostOf(rates),
    p99Seconds: mostOf(slowest),
    calmP99Seconds: acknowledgements?.p99(calm(faults, run.seconds)) ?? null,
    failures: failuresOf(run),
  };
}

function mostOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}

/** The periods without a fault and without a recovery. */
function calm(faults: readonly Omit<Recovery, 'p99Seconds'>[], seconds: number): readonly Period[] {
  const periods: Period[] = [];
  let from = 0;
  for (const { begin, end, recoverySeconds } of faults) {
    periods.push([from, begin]);
    from = Math.max(from, recoverySeconds === null ? seconds : end + recoverySeconds);
  }
  return [...periods, [from, seconds]];
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

function failuresOf({ published, acknowledged, readings, quarantine, named, problems }: Run): string[] {
  const failures: string[] = [];
  if (readings.missing > 0) failures.push(`${readings.missing} acknowledged readings are not in the store`);
  if (readings.duplicate > 0) failures.push(`${readings.duplicate} readings are stored twice`);
  if (quarantine.missing.length > 0)
    failures.push(`${quarantine.missing.length} acknowledged messages are not in the quarantine`);
  if (acknowledged < published) failures.push(`${published - acknowledged} messages were never acknowledged`);
  if (named !== null) {
    const { lost, listed, wrong, wentBack, truncated } = named;
    if (wrong > 0) failures.push(`the ledger lists ${wrong} readings as missing that are stored`);
    if (listed < lost && !truncated)
      failures.push(`the ledger does not list ${lost - listed} of ${lost} readings that sensors lost`);
    if (wentBack > 0)
      failures.push(`in ${wentBack} samples the ledger listed fewer lost readings than before`);
  }
  return [...failures, ...problems];
}

export function textOf(title: string, figures: Figures): string {
  const { readings, quarantine, broker, healed, named, faults, failures } = figures;
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
    ...(named === null
      ? []
      : [
          ['lost by sensors', show(named.lost)],
          ['listed by ingest', `${show(named.listed)}${named.truncated ? ', not complete' : ''}`],
        ]),
    ...(healed === null
      ? []
      : [
          ['requests for missing readings', show(healed.requests)],
          ['messages sent again', show(healed.messages)],
          ['complete after the faults', orNone(healed.seconds, (value) => `${value.toFixed(1)} s`)],
        ]),
    ['received again', show(figures.redelivered)],
    ['faults', show(faults.length)],
    ['longest time to recover', orNone(figures.recoverySeconds, (value) => `${value.toFixed(1)} s`)],
    ['stored per second then', orNone(figures.drainPerSecond, show)],
    ...(figures.calmP99Seconds === null
      ? []
      : [
          ['acknowledged within, p99', milliseconds(figures.calmP99Seconds)],
          ['the same while it recovers', orNone(figures.p99Seconds, milliseconds)],
        ]),
    ['peak memory of ingest', `${(figures.peakBytes / MIB).toFixed(0)} MiB`],
    ['unexpected ends of ingest', show(figures.unexpectedEnds)],
  ]);
  const steps = textTable([
    ['fault', 'begin s', 'length s', 'recovery s', 'stored/s', 'p99 then'],
    ...faults.map(({ fault, begin, end, recoverySeconds, drainPerSecond, p99Seconds }) => [
      fault,
      begin.toFixed(1),
      (end - begin).toFixed(1),
      orNone(recoverySeconds, (value) => value.toFixed(1)),
      orNone(drainPerSecond, show),
      orNone(p99Seconds, milliseconds),
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

function milliseconds(seconds: number): string {
  return `${show(Math.round(seconds * 1000))} ms`;
}

function orNone(value: number | null, text: (value: number) => string): string {
  return value === null ? '-' : text(value);
}

function show(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en') : showNumber(value);
}
