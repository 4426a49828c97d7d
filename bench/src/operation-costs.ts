import type { MeasuredOperation, RecordBlock } from '@tidegauge/loadtests/drivers/record-driver';
import { mean, median } from '@tidegauge/loadtests/results/statistics';
import { type Estimate, estimate } from '@tidegauge/loadtests/results/student';
import { meanBetween, type Scrape } from '@tidegauge/test-support/scrape';

/** The same operations, run on the store alone (`raw`) and through the application (`app`), one run after the other. */
export interface BlockPair {
  readonly raw: RecordBlock;
  readonly app: RecordBlock;
}

/** One figure of both sides, as means over the blocks, and the difference within block pairs. In microseconds. */
export interface Cost {
  readonly raw: number;
  readonly app: number;
  readonly added: Estimate;
}

export interface OperationCost {
  readonly operation: MeasuredOperation;
  /** Number of operations through the application, over all blocks. */
  readonly operations: number;
  readonly median: Cost;
  readonly mean: Cost;
}

const ORDER: readonly MeasuredOperation[] = ['read', 'update', 'insert', 'scan', 'readModifyWrite'];

/** The time that the application adds, by type of operation: differences of block medians and of block means. */
export function operationCosts(pairs: readonly BlockPair[]): OperationCost[] {
  return ORDER.flatMap((operation) => {
    const both = pairs.flatMap(({ raw, app }) => {
      const [of, and] = [raw.latencies.get(operation), app.latencies.get(operation)];
      return of === undefined || and === undefined ? [] : [{ raw: of, app: and }];
    });
    if (both.length < 2) return [];
    const cost = (figure: (latencies: readonly number[]) => number): Cost => {
      const raw = both.map((block) => figure(block.raw) * 1000);
      const app = both.map((block) => figure(block.app) * 1000);
      const added = estimate(app.map((value, block) => value - raw[block]!));
      return { raw: mean(raw), app: mean(app), added };
    };
    const operations = both.reduce((sum, block) => sum + block.app.length, 0);
    return [{ operation, operations, median: cost(median), mean: cost(mean) }];
  });
}

/** The parts of the duration of an operation: means in microseconds. */
export interface Stages {
  readonly operation: MeasuredOperation;
  /** Time outside of the API's handler: the client's work, the loopback network, and Node's HTTP server in the API. */
  readonly client: number;
  /** Time in the API's handler, without the store call. */
  readonly api: number;
  /** Time of the store call within the API, until its commit or its result. */
  readonly store: number;
}

const KEY = '/v1/records/{table}/{key}';
const SERIES = {
  read: { method: 'GET', route: KEY },
  update: { method: 'PATCH', route: KEY },
  insert: { method: 'PUT', route: KEY },
  scan: { method: 'GET', route: '/v1/records/{table}' },
} as const;

/**
 * Computes the stages from the API's histograms before and after the run. A read-modify-write has no stages: the API
 * receives it as a read and an update.
 */
export function stagesOf(costs: readonly OperationCost[], before: Scrape, after: Scrape): Stages[] {
  return costs.flatMap(({ operation, mean: { app } }) => {
    if (operation === 'readModifyWrite') return [];
    const request = meanBetween(before, after, 'tidegauge_http_request_seconds', SERIES[operation]);
    const call = meanBetween(before, after, 'tidegauge_store_seconds', { op: `records.${operation}` });
    if (request === null || call === null) return [];
    const [http, store] = [request * 1e6, call * 1e6];
    return [{ operation, client: app - http, api: http - store, store }];
  });
}
