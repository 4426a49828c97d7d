import { analysisOutput } from '@tidegauge/loadtests/results/run-analysis';
import { RunMarks } from '@tidegauge/loadtests/results/run-marks';
import { ConfigError, EXIT } from '@tidegauge/service/program';
import { environmentOf } from '../archive/environment.ts';
import { writeManifest } from '../archive/manifest.ts';
import { openResults } from '../archive/results.ts';
import { combinationText } from '../combination-text.ts';
import { estimate } from '../estimate.ts';
import type { Combination, Place, PlaceName, Plan } from '../model.ts';
import { runCount } from '../plan.ts';
import { showCount, showSeconds } from '../plan-text.ts';
import { outcomeText, runStudy, type StudyOutcome } from '../runner.ts';
import { openRound } from '../trial/open-round.ts';
import { earlierRuns } from './earlier-runs.ts';
import { expectQuiet } from './quiet-machine.ts';
import { reportResults } from './report.ts';

/** The most reasons that are listed. */
const MOST_REFUSALS = 10;

export interface PerformOptions {
  /** Text of the experiment file. */
  readonly source: string;
  readonly directory: string;
  readonly force: boolean;
  /** The URL of a Prometheus that receives phases and results. */
  readonly prometheus: string | null;
  /** Waits until other work on this machine has ended. */
  readonly wait: boolean;
  /** Seconds after which no further site is begun. null: no limit. */
  readonly budget: number | null;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** Runs what remains of a plan, then writes the report. Resolves to the exit code. */
export async function performStudy(plan: Plan, place: Place, options: PerformOptions): Promise<number> {
  const { source, directory, force, prometheus, budget, wait, signal, say } = options;
  const refusals = refusalsOf(plan, place);
  if (refusals.length > 0) throw new ConfigError(refusals);
  const { seconds, bytes } = estimate(plan, earlierRuns());
  const count = `${showCount(runCount(plan), 'run')} in ${showCount(plan.deployments.length, 'deployment')}`;
  let code: number;
  try {
    const environment = await environmentOf(place);
    const results = await openResults(directory, plan, environment, { source, force, needBytes: bytes, say });
    try {
      const most = plan.study.repeat.untilDecided === true ? 'at most' : 'about';
      say(`expected duration: ${most} ${showSeconds(seconds)} for ${count}; study plan shows them`);
      say(`results: ${directory}`);
      const limit = place.name === 'swarm' ? null : plan.study.valid.foreignCpu;
      await expectQuiet({ limit, wait, signal, say });
      const onDeployment = async (): Promise<void> => void (await writeManifest(directory));
      const outcome = await runStudy({
        place,
        results,
        openRound,
        signal,
        say,
        estimateSeconds: seconds,
        force,
        onDeployment,
        judge: () => neededFor(directory),
        budgetSeconds: budget,
        ...(prometheus === null ? {} : { marks: new RunMarks(prometheus, say) }),
      });
      await writeManifest(directory);
      say(outcomeText(outcome));
      if (outcome.done === 0) return EXIT.FAILED;
      code = exitCodeOf(outcome);
    } finally {
      results.close();
    }
  } catch (error) {
    if (signal.aborted)
      say(`the servers are stopping; to continue, run it again with --results ${directory}`);
    throw error;
  } finally {
    await place.stop();
  }
  const reported = await reportResults(directory, say);
  return reported === EXIT.OK ? code : reported;
}

/** A study that only its budget has ended is not a failure. */
function exitCodeOf({ complete, unspent, failed, invalid }: StudyOutcome): number {
  const isWhole = complete || (unspent !== null && failed.length === 0);
  if (!isWhole) return EXIT.FAILED;
  return invalid.length > 0 ? EXIT.INVALID : EXIT.OK;
}

/** The combinations that undecided claims need, or null while the study is not to be judged. */
async function neededFor(directory: string): Promise<readonly Combination[] | null> {
  const found = JSON.parse(await analysisOutput('decide', [directory])) as {
    readonly look: number | null;
    readonly open: readonly { readonly combinations: readonly Combination[] }[];
  };
  return found.look === null ? null : found.open.flatMap(({ combinations }) => combinations);
}

/** The place of this name. Its code is loaded when it is used. */
export async function placeNamed(name: PlaceName): Promise<Place> {
  if (name === 'lab') return (await import('../places/lab.ts')).labPlace();
  if (name === 'boards') return (await import('../places/boards.ts')).boardsPlace();
  return (await import('../places/swarm.ts')).swarmPlace();
}

/** Why a place cannot deploy combinations of a plan: a line for each reason, at most eleven. Empty if it can deploy all. */
export function refusalsOf(plan: Plan, place: Place): readonly string[] {
  const refused = new Map<string, Set<string>>();
  for (const { hard } of plan.deployments) {
    const reason = place.refuses(hard, plan.study);
    if (reason !== null) refused.set(reason, (refused.get(reason) ?? new Set()).add(combinationText(hard)));
  }
  const lines = [...refused]
    .slice(0, MOST_REFUSALS)
    .map(
      ([reason, combinations]) => `not possible on ${place.name}: ${[...combinations].join('; ')}: ${reason}`,
    );
  const more = refused.size - lines.length;
  return more > 0 ? [...lines, `and for ${more} more reasons`] : lines;
}
