import { ConfigError, EXIT } from '@tidegauge/service/program';
import { RunMarks } from '../../results/run-marks.ts';
import { environmentOf } from '../archive/environment.ts';
import { writeManifest } from '../archive/manifest.ts';
import { openResults } from '../archive/results.ts';
import { combinationText } from '../combination-text.ts';
import { estimate } from '../estimate.ts';
import type { Place, PlaceName, Plan } from '../model.ts';
import { runCount } from '../plan.ts';
import { showCount, showSeconds } from '../plan-text.ts';
import { outcomeText, runStudy } from '../runner.ts';
import { openRound } from '../trial/open-round.ts';
import { earlierRuns } from './earlier-runs.ts';
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
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** Runs what remains of a plan, then writes the report. Resolves to the exit code. */
export async function performStudy(plan: Plan, place: Place, options: PerformOptions): Promise<number> {
  const { source, directory, force, prometheus, signal, say } = options;
  const refusals = refusalsOf(plan, place);
  if (refusals.length > 0) throw new ConfigError(refusals);
  const { seconds, bytes } = estimate(plan, earlierRuns());
  const count = `${showCount(runCount(plan), 'run')} in ${showCount(plan.deployments.length, 'deployment')}`;
  let code: number;
  try {
    const environment = await environmentOf(place);
    const results = await openResults(directory, plan, environment, { source, force, needBytes: bytes, say });
    try {
      say(`expected duration: about ${showSeconds(seconds)} for ${count}; study plan shows them`);
      say(`results: ${directory}`);
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
        ...(prometheus === null ? {} : { marks: new RunMarks(prometheus, say) }),
      });
      await writeManifest(directory);
      say(outcomeText(outcome));
      if (outcome.done === 0) return EXIT.FAILED;
      code = !outcome.complete ? EXIT.FAILED : outcome.invalid.length > 0 ? EXIT.INVALID : EXIT.OK;
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
