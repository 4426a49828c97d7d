import { buildGoProgram } from './go-program.ts';

/** The last commit of Timescale's Time Series Benchmark Suite. Its repository has no tags. */
export const TSBS_VERSION = 'v0.0.0-20230921131859-37fced794d56';
const MODULE = 'github.com/timescale/tsbs';

/** Programs of the suite. */
export type TsbsProgram = 'tsbs_generate_data' | 'tsbs_generate_queries' | 'tsbs_load_influx';

/**
 * Builds a program of the Time Series Benchmark Suite from its Go module, once, and resolves to its path.
 *
 * @throws {Error} when Go is not installed, or when this process may not build missing programs
 */
export function buildTsbs(program: TsbsProgram): Promise<string> {
  return buildGoProgram({
    name: `tsbs/${program}`,
    module: MODULE,
    version: TSBS_VERSION,
    main: `./cmd/${program}`,
  });
}
