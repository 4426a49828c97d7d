import { lockDirectory } from '@tidegauge/service';
import { ConfigError } from '@tidegauge/service/program';
import { countRuns, History, remainingRuns } from '../archive/history.ts';
import { overheadOf } from '../archive/overhead.ts';
import { LOCK, readEntries, readPlan } from '../archive/results.ts';
import { combinationText } from '../combination-text.ts';
import type { JournalEntry } from '../model.ts';
import { overheadText, showDuration } from '../progress.ts';

/** What a results directory contains, as text. Another process may be writing it. */
export async function statusText(directory: string): Promise<string> {
  const plan = readPlan(directory);
  const entries = readEntries(directory);
  const history = new History(entries);
  const { planned, invalid } = countRuns(plan, history);
  const { study } = plan;
  const deployments = history.wanted(plan);
  // Those of series that are under way are among them, as in the lines of the study itself.
  const remaining = deployments
    .flatMap(({ series }) => series)
    .reduce((sum, each) => sum + remainingRuns(plan, history, each), 0);
  const complete = deployments.filter((each) => history.isComplete(each));
  const running = await isRunning(directory);
  const lines = [
    `${study.name}${study.quick ? ' (quick)' : ''}: ${study.title}`,
    `${planned - remaining} of ${planned} runs are done; ${complete.length} of ${deployments.length} deployments are complete`,
  ];
  const state = complete.length === deployments.length ? 'complete' : running ? 'running' : 'stopped';
  lines.push(`state: ${state}`);
  const { runs, seconds } = timeOf(entries);
  if (state !== 'complete' && runs > 0) {
    const left = (seconds / runs) * remaining;
    lines.push(
      `about ${showDuration(left)} left, at the mean time of a run with starts of servers and loads`,
    );
  }
  const voids = entries.filter(({ event }) => event === 'series-void').length;
  if (voids > 0) lines.push(`series that were interrupted and repeated: ${voids}`);
  for (const entry of entries) {
    if (entry.event === 'opened')
      lines.push(...entry.differs.map((text) => `continued with --force: ${text}`));
    if (entry.event !== 'deployment-failed') continue;
    const { hard = {} } = plan.deployments.find(({ id }) => id === entry.deployment) ?? {};
    lines.push(
      `failed: ${entry.deployment} attempt ${entry.attempt} (${combinationText(hard)}): ${entry.reason}`,
    );
  }
  if (invalid.length > 0) lines.push(`runs that were invalid at each attempt: ${invalid.length}`);
  const overhead = overheadText(overheadOf(entries));
  if (overhead !== null) lines.push(overhead);
  return lines.join('\n');
}

/** Runs that ended, and the seconds until then in all sessions, with starts of servers and loads. */
function timeOf(entries: readonly JournalEntry[]): { readonly runs: number; readonly seconds: number } {
  let runs = 0;
  let milliseconds = 0;
  let counted = 0;
  for (const { event, time } of entries) {
    const now = Date.parse(time);
    if (event === 'opened') counted = now;
    if (event !== 'run-ended') continue;
    runs += 1;
    milliseconds += now - counted;
    counted = now;
  }
  return { runs, seconds: milliseconds / 1000 };
}

/** Whether another process has the directory open. */
async function isRunning(directory: string): Promise<boolean> {
  try {
    const lock = await lockDirectory(directory, LOCK, { waitMs: 0, setting: '--results' });
    lock.release();
    return false;
  } catch (error) {
    if (error instanceof ConfigError && error.message.includes('is used by another')) return true;
    return false;
  }
}
