import { createHash } from 'node:crypto';
import { seeded } from '@tidegauge/workload';
import { hardCombinations, seriesOf } from './combinations.ts';
import { hasFault } from './levels.ts';
import type { Combination, DeploymentPlan, Plan, SeriesPlan, Study } from './model.ts';
import { shuffled } from './shuffled.ts';

const FORMAT = 2;
/** Hexadecimal digits of an id: 48 bits. Plans have at most 100,000 series. */
const ID_LENGTH = 12;

/**
 * All runs of a study in their order. Each block has every combination of hard factors once, in random order. Each
 * deployment has every combination of easy factors once, in random order. Combinations that differ in paired factors
 * only are done at the same time: their deployments are one site, and their series one round. A seed always gives the
 * same order, in which each permutation is equally likely. Blocks and sites have separate streams of random numbers.
 */
export function makePlan(study: Study): Plan {
  const paired = study.repeat.pairing === 'none' ? [] : study.repeat.paired;
  const cells = hardCombinations(study)
    .map((hard, index) => ({ hard, index, series: seriesOf(study, hard) }))
    .filter(({ series }) => series.length > 0);
  const sites = Map.groupBy(cells, ({ hard }) => canonical(without(hard, paired)));
  const random = seeded(study.seed);
  const deployments: DeploymentPlan[] = [];
  for (let block = 1; block <= study.repeat.deployments; block += 1) {
    random.restart(block);
    for (const [levels, site] of shuffled([...sites], random)) {
      const all = site.flatMap(({ hard, series }) => series.map(({ easy }) => ({ hard, easy })));
      const rounds = Map.groupBy(all, ({ easy }) => canonical(without(easy, paired)));
      const order = shuffled([...rounds.keys()], seeded(study.seed, block, site[0]!.index + 1));
      for (const { hard, series } of site) {
        deployments.push({
          id: idOf('d', block, hard),
          block,
          ...(site.length === 1 ? {} : { site: idOf('p', block, levels) }),
          hard,
          series: order.flatMap((round) =>
            series
              .filter(({ easy }) => canonical(without(easy, paired)) === round)
              .map(
                ({ easy, drivers }): SeriesPlan => ({
                  id: idOf('s', block, hard, easy),
                  ...(rounds.get(round)!.length === 1 ? {} : { round: idOf('r', block, levels, round) }),
                  easy,
                  drivers,
                  state: study.state[String(easy.workload)]!,
                  trials: study.repeat.trials,
                  warmup: study.repeat.warmup,
                }),
              ),
          ),
        });
      }
    }
  }
  return { format: FORMAT, study, hash: hashOf(study), deployments };
}

/**
 * How often the first warm-up trial of a series runs. Servers that have just started compile and cache for minutes: HBase
 * reads half as fast again in the second run as in the first one, and still faster in the third. Not with a failure: each run
 * then takes a minute, most of which is before and after it.
 */
export function warmUpRuns(study: Study, { easy, warmup }: SeriesPlan, isFirst: boolean): number {
  return isFirst && warmup > 0 && !hasFault(study, easy) && !study.quick ? 3 : 1;
}

/** As many blocks as a study that runs until it is decided can have: the last of `SCHEDULE` in looks.py. */
const MOST_BLOCKS = 16;

/** The study with blocks until its claims are decided. */
export function untilDecided(study: Study): Study {
  return { ...study, repeat: { ...study.repeat, deployments: MOST_BLOCKS, untilDecided: true } };
}

/** Whether a combination that is still open has the levels of the deployment. */
export function isNeeded({ hard }: DeploymentPlan, open: readonly Combination[]): boolean {
  return open.some((levels) =>
    Object.entries(hard).every(([name, level]) => levels[name] === undefined || levels[name] === level),
  );
}

/** The sites of each block, in the order of the plan. */
export function blocksOf(
  deployments: readonly DeploymentPlan[],
): readonly (readonly (readonly DeploymentPlan[])[])[] {
  return [...Map.groupBy(sitesOf(deployments), (site) => site[0]!.block).values()];
}

/** Deployments that are up at the same time, in the order of the plan. */
export function sitesOf(deployments: readonly DeploymentPlan[]): readonly (readonly DeploymentPlan[])[] {
  return [...Map.groupBy(deployments, ({ id, site = id }) => site).values()];
}

/** Series that take turns with each other, in the order of the plan. */
export function roundsOf(
  site: readonly DeploymentPlan[],
): readonly (readonly { readonly plan: DeploymentPlan; readonly series: SeriesPlan }[])[] {
  const all = site.flatMap((plan) => plan.series.map((series) => ({ plan, series })));
  return [...Map.groupBy(all, ({ series: { id, round = id } }) => round).values()];
}

function without(levels: Combination, names: readonly string[]): Combination {
  return Object.fromEntries(Object.entries(levels).filter(([name]) => !names.includes(name)));
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
