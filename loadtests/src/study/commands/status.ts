import { lockDirectory } from '@tidegauge/service';
import { ConfigError } from '@tidegauge/service/program';
import { countRuns, History } from '../archive/history.ts';
import { overheadOf } from '../archive/overhead.ts';
import { LOCK, readEntries, readPlan } from '../archive/results.ts';
import { combinationText } from '../combination-text.ts';
import { showDuration } from '../progress.ts';

/** What a results directory contains, as text. Another process may be writing it. */
export async function statusText(directory: string): Promise<string> {
  const plan = readPlan(directory);
  const entries = readEntries(directory);
  const history = new History(entries);
  const { planned, done, invalid } = countRuns(plan, history);
  const { study, deployments } = plan;
  const complete = deployments.filter((each) => history.isComplete(each));
  const running = await isRunning(directory);
  const lines = [
    `${study.name}${study.quick ? ' (quick)' : ''}: ${study.title}`,
    `${done} of ${planned} runs are done; ${complete.length} of ${deployments.length} deployments are complete`,
  ];
  const state = complete.length === deployments.length ? 'complete' : running ? 'running' : 'stopped';
  lines.push(`state: ${state}`);
  const times: number[] = [];
  let started = 0;
  for (const entry of entries) {
    if (entry.event === 'trial-loaded' || entry.event === 'opened') started = Date.parse(entry.time);
    if (entry.event === 'run-ended') {
      times.push((Date.parse(entry.time) - started) / 1000);
      started = Date.parse(entry.time);
    }
  }
  if (state !== 'complete' && times.length > 0) {
    const mean = times.reduce((sum, each) => sum + each, 0) / times.length;
    lines.push(`about ${showDuration(mean * (planned - done))} left, without starts of servers and loads`);
  }
  const voids = entries.filter(({ event }) => event === 'series-void').length;
  if (voids > 0) lines.push(`series that were interrupted and repeated: ${voids}`);
  for (const entry of entries) {
    if (entry.event === 'opened')
      lines.push(...entry.differs.map((text) => `continued with --force: ${text}`));
    if (entry.event !== 'deployment-failed') continue;
    const { hard = {} } = deployments.find(({ id }) => id === entry.deployment) ?? {};
    lines.push(
      `failed: ${entry.deployment} attempt ${entry.attempt} (${combinationText(hard)}): ${entry.reason}`,
    );
  }
  if (invalid.length > 0) lines.push(`runs that were invalid at each attempt: ${invalid.length}`);
  const { betweenMedian, betweenMost } = overheadOf(entries);
  if (betweenMedian !== null && betweenMost !== null) {
    lines.push(`overhead of a run: median ${showDuration(betweenMedian)}, most ${showDuration(betweenMost)}`);
  }
  return lines.join('\n');
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
