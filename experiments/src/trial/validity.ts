import type { Check, NetworkProfile, ValidityLimits } from '../model.ts';
import type { Measured } from './monitor.ts';

const MISSING = 'not known here';

/** What the rules judge. */
export interface Evidence {
  readonly limits: ValidityLimits;
  /** Operations that were planned, started, and that succeeded. */
  readonly planned: number;
  readonly started: number;
  readonly done: number;
  /** From the start of the first operation to the end of the last one. */
  readonly seconds: number;
  /** Operations per second. null: no target. */
  readonly rate: number | null;
  /** Operations in the file of the run, with the parts of read-modify-writes. */
  readonly rows: number;
  /** Wrong values: of reads during the run, and of the sample of records after it. */
  readonly damaged: number | null;
  readonly damagedNote: string | null;
  /** How much longer operations took after the turns of one partner, relative; null: not known. */
  readonly carryOver: number | null;
  readonly carryOverNote: string | null;
  /** Why the driver did not complete the run. null: it did. */
  readonly failure: string | null;
  readonly measured: Measured;
  readonly profile: NetworkProfile | null;
}

/** The limits of a run in which a node is killed: failed operations and lost writes are its results. */
export function duringFault(limits: ValidityLimits): ValidityLimits {
  return { ...limits, dropped: null, errors: null, damaged: null, target: null };
}

/** One check for each rule. A run is valid when all are ok. */
export function judge(evidence: Evidence): readonly Check[] {
  const { limits, planned, started, done, measured, failure } = evidence;
  const { unseen } = measured;
  const missing = unseen.length === 0 ? MISSING : `${unseen.join(', ')} cannot be measured from here`;
  const slow = [measured.throttledNote, unseen.length === 0 ? null : missing].filter(Boolean).join('; ');
  return [
    driverCheck(failure),
    // The analysis reads the file only: a run that lost operations there has no result.
    atMost('recorded', Math.max(0, started - evidence.rows), 0, 'operations without a row'),
    atMost('dropped', planned - started, limits.dropped, 'operations'),
    atMost('errors', started - done, limits.errors, 'operations'),
    atMost('damaged', evidence.damaged, limits.damaged, 'values', evidence.damagedNote),
    targetCheck(evidence),
    atMost('throttled', measured.throttled, limits.throttled, 'share', slow || missing),
    atMost('clockStep', measured.clockStepMs, limits.clockStepMs, 'ms'),
    atMost('oomKills', measured.oomKills, limits.oomKills, 'processes', missing),
    atMost('swap', measured.swapBytes, limits.swapBytes, 'bytes', missing),
    atMost('foreignCpu', measured.foreignCpu, limits.foreignCpu, 'share', missing),
    networkCheck(evidence),
    atMost('carryOver', evidence.carryOver, limits.carryOver, 'share', evidence.carryOverNote),
  ];
}

function driverCheck(failure: string | null): Check {
  return {
    rule: 'driver',
    measured: failure === null ? 0 : 1,
    limit: 0,
    unit: 'failures',
    ok: failure === null,
    ...(failure === null ? {} : { note: failure }),
  };
}

/** A value that is not known is ok: a place that cannot measure it must not make every run invalid. */
function atMost(
  rule: string,
  measured: number | null,
  limit: number | null,
  unit: string,
  note: string | null = null,
): Check {
  const ok = measured === null || limit === null || measured <= limit;
  const isUseful = note !== null && (measured === null || note !== MISSING);
  return { rule, measured, limit, unit, ok, ...(isUseful ? { note } : {}) };
}

/** The rate of the operations that were started, without the time after the last intended start. */
function targetCheck({ limits, rate, started, seconds }: Evidence): Check {
  if (rate === null) {
    return {
      rule: 'target',
      measured: null,
      limit: limits.target,
      unit: 'share',
      ok: true,
      note: 'the run has no target',
    };
  }
  const measured = seconds === 0 ? 0 : started / seconds / rate;
  return {
    rule: 'target',
    measured,
    limit: limits.target,
    unit: 'share',
    ok: limits.target === null || measured >= limits.target,
  };
}

/**
 * A round trip contains the delay of the profile once. The larger one of the relative differences before and after the
 * run counts.
 */
function networkCheck({ limits, profile, measured: { roundTripMs } }: Evidence): Check {
  const { before, after } = roundTripMs;
  const times = [before, after].filter((time) => time !== null);
  if (profile === null || profile.delayMs === 0 || times.length === 0) {
    const note = profile === null ? 'the network has no profile' : MISSING;
    return { rule: 'network', measured: null, limit: limits.network, unit: 'share', ok: true, note };
  }
  const expected = profile.delayMs;
  const differences = times.map((time) => Math.abs(time - expected) / expected);
  const show = (time: number | null): string => (time === null ? 'unknown' : `${time.toFixed(2)} ms`);
  return atMost(
    'network',
    Math.max(...differences),
    limits.network,
    'share',
    `round trip ${show(before)} before and ${show(after)} after the run, for ${expected} ms`,
  );
}
