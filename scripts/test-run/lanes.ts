import { createHash } from 'node:crypto';
import type { Job } from './suites.ts';

/**
 * The queues of each test process, in the order in which it takes jobs from them. Proofs run one at a time, because each
 * has several servers. The process that has run all of them runs other tests. When none of these are left, a second
 * process helps with the proofs.
 */
export function lanesOf(jobs: readonly Job[], processes: number): (readonly Job[][])[] {
  const proofs = jobs.filter(isProof);
  const others = jobs.filter((job) => !isProof(job));
  const queues = [
    [proofs, others],
    [others, proofs],
  ];
  return Array.from({ length: processes }, (_, lane) => queues[lane] ?? [others]);
}

/** The next job of a lane, which is removed from its queue. */
export function takeJob(lane: readonly Job[][]): Job | undefined {
  return lane.find((queue) => queue.length > 0)?.shift();
}

/** Removes the proofs that no process has taken yet, and returns them. */
export function leaveOutProofs(lanes: readonly (readonly Job[][])[]): Job[] {
  const [proofs] = lanes.flat().filter((queue) => queue.some(isProof));
  return proofs?.splice(0) ?? [];
}

/** The jobs with the proofs in an order that a text decides, so that runs with other texts begin with others. */
export function inOrderOf(text: string, jobs: readonly Job[]): Job[] {
  const keyOf = ({ name }: Job): string => createHash('sha256').update(`${text} ${name}`).digest('hex');
  const proofs = jobs.filter(isProof).toSorted((one, two) => keyOf(one).localeCompare(keyOf(two)));
  return [...jobs.filter((job) => !isProof(job)), ...proofs];
}

/** How many processes run at once by default: more than there are cores, because most files wait half of their time. */
export function defaultProcesses(cores: number): number {
  return Math.max(2, cores) + 2;
}

function isProof({ suite }: Job): boolean {
  return suite === 'proofs';
}
