import { duration } from '@tidegauge/service/program';
import { didYouMean } from '@tidegauge/text';
import type { Path } from '@tidegauge/yaml-file';
import type { NetworkProfile } from '../model.ts';
import { NONE } from './factors.ts';
import type { StudyInput } from './study-input.ts';
import type { StudyLevels } from './study-levels.ts';

/** The network profiles of the file. Each level of the factor `network` must be one of them. */
export function networksOf(input: StudyInput, levels: StudyLevels): Readonly<Record<string, NetworkProfile>> {
  const profiles: Record<string, NetworkProfile> = {};
  for (const [name, { delay, jitter = '0s', loss = 0, rate }] of Object.entries(input.file.networks ?? {})) {
    const path = ['networks', name];
    if (name === NONE) input.add(path, 'none is the network as it is: choose another name', true);
    profiles[name] = {
      delayMs: milliseconds(input, [...path, 'delay'], delay),
      jitterMs: milliseconds(input, [...path, 'jitter'], jitter),
      loss,
      kilobitsPerSecond: rate === undefined ? null : kilobits(input, [...path, 'rate'], rate),
    };
  }
  const known = Object.keys(profiles);
  for (const level of levels.of('network')) {
    if (level === NONE || known.includes(String(level))) continue;
    const hint = didYouMean(String(level), known) || ': add it to networks';
    input.add(levels.placeOf('network', level), `there is no profile ${level}${hint}`);
  }
  return profiles;
}

function milliseconds(input: StudyInput, path: Path, given: string | number): number {
  return input.parsed(path, () => Math.round(duration(0, 60).parse(String(given)) * 1e6) / 1000) ?? 0;
}

/** Per second. */
function kilobits(input: StudyInput, path: Path, given: string): number | null {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(Kbit|Mbit|Gbit)$/.exec(given) ?? [];
  const rate = Number(number) * ({ Kbit: 1, Mbit: 1000, Gbit: 1_000_000 }[unit ?? ''] ?? Number.NaN);
  if (rate > 0) return rate;
  input.add(path, `${JSON.stringify(given)} is not a rate such as 512Kbit, 10Mbit or 1Gbit`);
  return null;
}
