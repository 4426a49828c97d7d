import { ConfigError } from '@tidegauge/service/program';
import { WorkloadError } from '@tidegauge/workload';
import { NotLoadedError } from './loading/load.ts';

/** An error as the program runner reports it: a wrong workload, or a store that lacks the data, is bad usage. */
export function asUsageError(error: unknown): unknown {
  if (error instanceof WorkloadError || error instanceof NotLoadedError)
    return new ConfigError([error.message]);
  return error;
}
