import type {
  Deployment,
  DeploymentPlan,
  Driver,
  RunDocument,
  RunRequest,
  SeriesPlan,
  Study,
} from '@tidegauge/experiments/model';
import { openRound } from '@tidegauge/experiments/trial/open-round';

/** A round of one series, whose runs a test does one by one or in turns. */
export async function openSingle(
  deployment: Deployment,
  deploymentPlan: DeploymentPlan,
  series: SeriesPlan,
  study: Study,
  signal: AbortSignal = new AbortController().signal,
) {
  const member = { deployment, deploymentPlan, series, deploymentAttempt: 1, seriesAttempt: 1 };
  const opened = await openRound([member], study, signal);
  const together = (...requests: readonly Omit<RunRequest, 'series'>[]): Promise<readonly RunDocument[]> =>
    opened.run(requests.map((request) => ({ ...request, series: series.id })));
  return {
    load: (trial: number, drivers: readonly Driver[] = series.drivers) =>
      opened.load(drivers.map((driver) => ({ series: series.id, driver, trial }))),
    together,
    run: async (request: Omit<RunRequest, 'series'>): Promise<RunDocument> => (await together(request))[0]!,
    close: (isLast = true) => opened.close(isLast),
  };
}

export type SingleSeries = Awaited<ReturnType<typeof openSingle>>;
