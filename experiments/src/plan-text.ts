import { textTable } from '@tidegauge/loadtests/results/table';
import { counted } from '@tidegauge/text';
import type { Estimate } from './estimate.ts';
import { showSize } from './file/factors.ts';
import type { Combination, Plan, SeriesPlan } from './model.ts';
import { runCount } from './plan.ts';

/** A plan as text: what is run in which order, and how much time and disk it takes. */
export function planText(plan: Plan, estimate: Estimate): string {
  const { study, deployments } = plan;
  const { trials, warmup } = study.repeat;
  const quick = study.quick ? ' (quick)' : '';
  const lines = [
    `${study.name}${quick}: ${study.title}`,
    `${showCount(runCount(plan), 'run')} in ${showCount(deployments.length, 'deployment')}, seed ${study.seed}, plan ${plan.hash.slice(0, 12)}`,
    `${showCount(trials, 'trial')} of each series, of which ${warmup} ${warmup === 1 ? 'is' : 'are'} for warm-up`,
    `fixed: ${levelsText(study.fixed)}`,
  ];
  for (const [index, deployment] of deployments.entries()) {
    const seconds = showSeconds(estimate.deployments.get(deployment.id) ?? 0);
    lines.push(
      '',
      `${index + 1}. block ${deployment.block}, ${levelsText(deployment.hard)}: ${seconds}`,
      textTable(deployment.series.map(seriesRow)).trimEnd(),
    );
  }
  for (const { where, because } of study.exclude)
    lines.push('', `left out: ${levelsText(where)}: ${because}`);
  const share = Math.round(estimate.measured * 100);
  const basis =
    share === 0
      ? 'typical rates on two slow cores'
      : `${share} % of the runs from earlier results of the same levels`;
  lines.push(
    '',
    `duration: about ${showSeconds(estimate.seconds)} (${basis})`,
    `disk: about ${showBytes(estimate.bytes)} (results ${showBytes(estimate.archiveBytes)}, largest store ${showBytes(estimate.storeBytes)})`,
  );
  return `${lines.join('\n')}\n`;
}

function seriesRow({ easy, drivers, state, trials }: SeriesPlan): readonly string[] {
  return [levelsText(easy), drivers.join(' and '), `${trials} x ${drivers.length}`, state];
}

function levelsText(levels: Combination): string {
  return Object.entries(levels)
    .map(([name, level]) => `${name} ${level}`)
    .join(', ');
}

/** `45 s`, `12 min`, `3 h 20 min`. */
export function showSeconds(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Rounded up to whole MiB. */
function showBytes(bytes: number): string {
  return showSize(Math.max(1, Math.ceil(bytes / 2 ** 20)) * 2 ** 20);
}

/** `1 run`, `1,234 runs`. */
export function showCount(number: number, noun: string): string {
  return counted(number, noun, (each) => each.toLocaleString('en'));
}
