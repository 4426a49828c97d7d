import type { Job } from './suites.ts';

/**
 * The queues of each test process, in the order in which it takes jobs from them. Stacks run one at a time, and so do
 * clusters of three nodes, because each has several databases. A process that has run all of them runs other tests. When
 * none of these are left, a second process helps with the stacks, which take longest.
 */
export function lanesOf(jobs: readonly Job[], processes: number): (readonly Job[][])[] {
  const stacks = jobs.filter(isStack);
  const clusters = jobs.filter((job) => !isStack(job) && job.files.some(isCluster));
  const others = jobs.filter((job) => !stacks.includes(job) && !clusters.includes(job));
  const large = [stacks, clusters].filter((queue) => queue.length > 0);
  return Array.from({ length: processes }, (_, lane) => [
    ...large.filter((_queue, index) => index % processes === lane),
    others,
    ...(lane === 1 ? [stacks] : []),
  ]);
}

/** The next job of a lane, which is removed from its queue. */
export function takeJob(lane: readonly Job[][]): Job | undefined {
  return lane.find((queue) => queue.length > 0)?.shift();
}

/** Removes the stacks that no process has taken yet, and returns them. */
export function leaveOutStacks(lanes: readonly (readonly Job[][])[]): Job[] {
  const [stacks] = lanes.flat().filter((queue) => queue.some(isStack));
  return stacks?.splice(0) ?? [];
}

/**
 * How many processes run at once by default: one more than there are cores, because most files wait for a server or a time
 * limit half of their time. Stacks wait longer, so they have one more.
 */
export function defaultProcesses(jobs: readonly Job[], cores: number): number {
  return Math.max(2, cores) + (jobs.some(isStack) ? 2 : 1);
}

function isStack({ suite }: Job): boolean {
  return suite === 'stack';
}

function isCluster(file: string): boolean {
  return file.endsWith('-3.test.ts');
}
