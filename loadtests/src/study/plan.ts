import { createHash } from 'node:crypto';
import { type SeededRandom, seeded } from '@tidegauge/workload';
import { hardCombinations, seriesOf } from './combinations.ts';
import type { DeploymentPlan, Plan, SeriesPlan, Study } from './model.ts';

const FORMAT = 1;
/** Hexadecimal digits of an id: 48 bits. Plans have at most 100,000 series. */
const ID_LENGTH = 12;

/**
 * All runs of a study in their order. Each block has every combination of hard factors once, in random order. Each
 * deployment has every combination of easy factors once, in random order. A seed always gives the same order, in which
 * each permutation is equally likely (Fisher and Yates' shuffle with the generator sfc32 of `seeded`). Blocks and
 * deployments have separate streams of random numbers.
 */
export function makePlan(study: Study): Plan {
  const cells = hardCombinations(study)
    .map((hard, index) => ({ hard, index, series: seriesOf(study, hard) }))
    .filter(({ series }) => series.length > 0);
  const random = seeded(study.seed);
  const deployments: DeploymentPlan[] = [];
  for (let block = 1; block <= study.repeat.deployments; block += 1) {
    random.restart(block);
    for (const { hard, index, series } of shuffled(cells, random)) {
      const order = seeded(study.seed, block, index + 1);
      deployments.push({
        id: idOf('d', block, hard),
        block,
        hard,
        series: shuffled(series, order).map(
          ({ easy, drivers }): SeriesPlan => ({
            id: idOf('s', block, hard, easy),
            easy,
            drivers,
            state: study.state[String(easy.workload)]!,
            trials: study.repeat.trials,
            warmup: study.repeat.warmup,
          }),
        ),
      });
    }
  }
  return { format: FORMAT, study, hash: hashOf(study), deployments };
}

/** SHA-256 of a study as canonical JSON: keys are sorted, so their order in the file has no effect. */
export function hashOf(study: Study): string {
  return sha256(canonical({ format: FORMAT, study }));
}

/** The number of runs, without repetitions. */
export function runCount(plan: Plan): number {
  return plan.deployments
    .flatMap(({ series }) => series)
    .reduce((sum, { drivers, trials }) => sum + drivers.length * trials, 0);
}

/** An id that depends on its cell only: the same cell has it in every plan. */
function idOf(prefix: string, ...cell: readonly unknown[]): string {
  return `${prefix}${sha256(canonical(cell)).slice(0, ID_LENGTH)}`;
}

function shuffled<T>(items: readonly T[], random: SeededRandom): readonly T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = random.below(last + 1);
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return order;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
