import { buildTsbs } from '@tidegauge/lab/tsbs';
import { runProgram } from '@tidegauge/process';
import { queriesIn, type TsbsQuery } from './queries.ts';

/** Values of a line of the use case cpu-only. Each is a series. */
export const LINE_VALUES = 10;
/** TSBS's default for the time between two lines of a host. */
export const STEP_SECONDS = 10;
const LOADED = /^loaded (\d+) metrics in ([\d.]+)sec/m;

/** What TSBS generates: hosts, a time range in milliseconds since the epoch, and the seed. */
export interface DataSet {
  readonly hosts: number;
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** From one line of a host to the next. */
  readonly stepSeconds: number;
  /** Hosts have the same tags in all data of a seed. */
  readonly seed: number;
}

/** The programs of TSBS, built. */
export interface Tsbs {
  /** Writes lines of the use case cpu-only to a file. */
  generateData(data: DataSet, file: string): Promise<void>;
  /** Queries of a type, at random times and for random hosts of the data. */
  generateQueries(data: DataSet, type: string, count: number): Promise<TsbsQuery[]>;
  load(file: string, load: Load): Promise<Loaded>;
}

export interface Load {
  /** The server, as InfluxDB 1.x. */
  readonly url: string;
  /** Lines of a request. */
  readonly batch: number;
  /** Least time from one request to the next. 0: it follows the answer. */
  readonly everySeconds: number;
  /** False: the server has the database. */
  readonly creates: boolean;
}

/** As TSBS counts and measures it. */
export interface Loaded {
  readonly values: number;
  readonly seconds: number;
}

/** Builds the programs of TSBS, once. @throws {Error} as `buildTsbs` */
export async function findTsbs(): Promise<Tsbs> {
  const data = await buildTsbs('tsbs_generate_data');
  const queries = await buildTsbs('tsbs_generate_queries');
  const loader = await buildTsbs('tsbs_load_influx');
  return {
    async generateData(set, file) {
      const args = [...argumentsOf(set), `--log-interval=${set.stepSeconds}s`, `--file=${file}`];
      await runProgram(data, args, { timeoutMs: Number.POSITIVE_INFINITY });
    },
    async generateQueries(set, type, count) {
      const args = [...argumentsOf(set), `--query-type=${type}`, `--queries=${count}`];
      return queriesIn((await runProgram(queries, args)).stdout);
    },
    async load(file, { url, batch, everySeconds, creates }) {
      const args = [
        `--file=${file}`,
        `--urls=${url}`,
        `--batch-size=${batch}`,
        `--do-create-db=${creates}`,
        '--reporting-period=0s',
        ...(everySeconds === 0 ? [] : [`--insert-intervals=${everySeconds}`]),
      ];
      const { stdout } = await runProgram(loader, args, { timeoutMs: Number.POSITIVE_INFINITY });
      const [, values, seconds] = LOADED.exec(stdout) ?? [];
      if (values === undefined) throw new Error(`tsbs_load_influx gave no summary: ${stdout}`);
      return { values: Number(values), seconds: Number(seconds) };
    },
  };
}

function argumentsOf({ hosts, from, to, seed }: DataSet): string[] {
  return [
    '--use-case=cpu-only',
    '--format=influx',
    `--scale=${hosts}`,
    `--timestamp-start=${new Date(from).toISOString()}`,
    `--timestamp-end=${new Date(to).toISOString()}`,
    `--seed=${seed}`,
  ];
}
