import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { machine, provenance } from '@tidegauge/loadtests/results/machine';
import type { Environment, Place } from '../model.ts';

/** Facts that must not change while a study is continued: versions, machine, kernel, processors and memory. */
export async function environmentOf(place: Place): Promise<Environment> {
  const { version, commit, modified } = provenance();
  const { cpu, cores, memoryBytes, arch, system, node } = machine();
  return {
    place: place.name,
    tidegauge: version,
    commit: commit === null ? 'unknown' : modified ? `${commit} with changes` : commit,
    node,
    machine: machineId(),
    system,
    arch,
    cpu,
    cores,
    memoryBytes,
    ...(await place.describe()),
  };
}

/** What differs between two environments, one text for each fact. */
export function differences(before: Environment, now: Environment): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  return names
    .filter((name) => before[name] !== now[name])
    .map((name) => `${name} was ${before[name] ?? 'not known'} and is ${now[name] ?? 'not known'}`);
}

/** Identifies the machine. The id itself must not be published, so this is a hash of it (machine-id(5)). */
function machineId(): string {
  let id: string;
  try {
    id = readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    id = '';
  }
  return createHash('sha256')
    .update(`tidegauge study ${id || hostname()}`)
    .digest('hex')
    .slice(0, 16);
}
