import { median } from '@tidegauge/loadtests/results/statistics';

/** One installation. */
export interface InstallTurn {
  readonly way: string;
  /** From an empty folder to a reading. */
  readonly seconds: number;
  readonly installedBytes: number;
  readonly downloadedBytes: number;
}

/** The installations of one way. */
export interface InstallMedians extends InstallTurn {
  readonly turns: number;
  readonly fastestSeconds: number;
  readonly slowestSeconds: number;
}

/** Medians of each way, the fastest way first. */
export function mediansOf(turns: readonly InstallTurn[]): readonly InstallMedians[] {
  const ways = [...Map.groupBy(turns, ({ way }) => way)].map(([way, each]) => {
    const all = each.map(({ seconds }) => seconds);
    return {
      way,
      turns: each.length,
      seconds: median(all),
      fastestSeconds: Math.min(...all),
      slowestSeconds: Math.max(...all),
      installedBytes: median(each.map(({ installedBytes }) => installedBytes)),
      downloadedBytes: median(each.map(({ downloadedBytes }) => downloadedBytes)),
    };
  });
  return ways.toSorted((a, b) => a.seconds - b.seconds);
}
