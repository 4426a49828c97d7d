import { DRIVERS, type Driver } from '../drivers.ts';

const NAME = new RegExp(`^(.+)-(\\d+)-(\\d+)-(${DRIVERS.join('|')})-(\\d+)$`);

/** Which run of a plan a run is, and which try. */
export interface RunIdentity {
  readonly series: string;
  readonly seriesAttempt: number;
  readonly trial: number;
  readonly driver: Driver;
  readonly attempt: number;
}

/** The name of a run and of its files. It is unique in a results directory. */
export function runName({ series, seriesAttempt, trial, driver, attempt }: RunIdentity): string {
  return `${series}-${seriesAttempt}-${trial}-${driver}-${attempt}`;
}

/** The parts of a name, or null when no run has such a name. */
export function parseRunName(name: string): RunIdentity | null {
  const match = NAME.exec(name);
  if (match === null) return null;
  const [, series, seriesAttempt, trial, driver, attempt] = match;
  return {
    series: series!,
    seriesAttempt: Number(seriesAttempt),
    trial: Number(trial),
    driver: driver as Driver,
    attempt: Number(attempt),
  };
}
