import {
  type CopyResult,
  type DayDifference,
  duration,
  number,
  some,
  type VerifyResult,
} from '@tidegauge/copy';

export interface Timing {
  readonly seconds: number;
}

/** The result of a copy as an object of JSON. */
export function copyDocument(result: CopyResult, { seconds }: Timing): object {
  const { differences, written, refused, units, devices, problems } = result;
  const { equal, details, extra, kept } = differences.counts;
  return {
    complete: problems.length === 0,
    readings: { written, equal, details, kept, extra, refused },
    units,
    devices,
    problems,
    seconds: Number(seconds.toFixed(3)),
    readingsPerSecond: Math.round(sourceReadings(result) / Math.max(seconds, 0.001)),
  };
}

function sourceReadings({ differences: { counts } }: CopyResult): number {
  return counts.equal + counts.missing + counts.different + counts.details + counts.kept;
}

export function copyText(result: CopyResult, { seconds }: Timing): string {
  const { differences, written, refused, units, devices, problems } = result;
  const { equal, details, extra, kept } = differences.counts;
  const all = sourceReadings(result);
  const rate = number(Math.round(all / Math.max(seconds, 0.001)));
  const lines = [
    `${some(all, 'reading')} in ${duration(seconds)} (${rate}/s): ${number(written)} written, ${number(equal)} were there`,
  ];
  if (details > 0) lines.push(detailsLine(details));
  if (kept > 0) lines.push(`${some(kept, 'reading')} kept: the target has another value, received later`);
  if (extra > 0) lines.push(`${some(extra, 'reading')} in the target only`);
  if (refused > 0) lines.push(`${some(refused, 'reading')} refused by the target`);
  lines.push(
    `${some(devices.total, 'registered device')}, ${number(devices.missing + devices.different)} changed; ` +
      `${some(units.total, 'unit')}, ${number(units.missing + units.different)} changed`,
    ...problems,
    problems.length === 0
      ? 'verified: each device has the expected number and digest of readings on each day'
      : 'not complete: run the same command again',
  );
  return `${lines.join('\n')}\n`;
}

function detailsLine(details: number): string {
  return (
    `${some(details, 'reading')} with equal values: the target has another time of receipt, boot, seq, quality ` +
    'or sign of zero from an earlier copy'
  );
}

/** Whether the target has everything of the source. @param merge the target may have more */
export function isVerified({ differences, devices, units }: VerifyResult, merge: boolean): boolean {
  const { missing, different, extra } = differences.counts;
  const of = [missing, different, devices.missing, units.missing, merge ? 0 : extra + devices.different];
  return of.every((count) => count === 0) && (merge || units.different === 0);
}

export function verifyDocument(result: VerifyResult, merge: boolean): object {
  const { differences, source, target, devices, units } = result;
  const { kept: _, ...readings } = differences.counts;
  return {
    verified: isVerified(result, merge),
    equal: source.digest === target.digest,
    source,
    target,
    readings,
    days: { different: differences.days, listed: differences.listed },
    devices,
    units,
  };
}

export function verifyText(result: VerifyResult, merge: boolean): string {
  const { differences, source, target, devices, units } = result;
  const lines = [
    `source: ${some(source.readings, 'reading')}, digest ${source.digest}`,
    `target: ${some(target.readings, 'reading')}, digest ${target.digest}`,
    ...differences.listed.map(dayLine),
  ];
  if (differences.days > differences.listed.length)
    lines.push(`and ${number(differences.days - differences.listed.length)} more days that differ`);
  for (const [what, { missing, different, extra }] of [
    ['registered devices', devices],
    ['units', units],
  ] as const) {
    if (missing + different + extra > 0)
      lines.push(`${what}: ${missing} missing, ${different} different, ${extra} in the target only`);
  }
  const { details } = differences.counts;
  if (details > 0) lines.push(detailsLine(details));
  lines.push(isVerified(result, merge) ? 'verified' : 'the stores differ');
  return `${lines.join('\n')}\n`;
}

function dayLine({ device, day, missing, different, details, extra }: DayDifference): string {
  const counts = Object.entries({ missing, different, details, 'in the target only': extra });
  const parts = counts.filter(([, count]) => count > 0).map(([what, count]) => `${number(count)} ${what}`);
  return `${device} ${day}: ${parts.join(', ')}`;
}
