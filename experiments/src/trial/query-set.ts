import { type ObservedRun, runClosedModel } from '@tidegauge/loadtests/drivers/closed-model';
import type { DeviceResult } from '@tidegauge/loadtests/drivers/device-target';
import { type PublishedQueries, publishedQueries } from '@tidegauge/loadtests/drivers/published-queries';
import { type Ask, appQuery, rawQuery } from '@tidegauge/loadtests/drivers/query-target';
import { loadReadings } from '@tidegauge/loadtests/loading/load-readings';
import { ReadLoad } from '@tidegauge/loadtests/operations/read-load';
import { type Answer, RightAnswer } from '@tidegauge/loadtests/operations/right-answers';
import type { QueriesWorkload } from '../levels.ts';
import type { Connections, OpenRequest } from './connections.ts';
import type { OperationSet, TrialObserver, TrialOperations, TurnLimits } from './operation-set.ts';
import type { Verification } from './sampled-writes.ts';

/**
 * Answers of a run that are kept and checked after the last read of their turn. A check takes as long as a read, and
 * would delay the reads that run beside it.
 */
const CHECKED = 20;

/** A read whose answer is not yet checked. */
interface Kept {
  readonly value: DeviceResult<Answer>['value'];
  readonly begun: number;
  readonly end: number;
  readonly thread: number;
}

/** One query over the readings of all devices. All reads of a run ask for the same. */
export class QuerySet implements OperationSet {
  readonly #request: OpenRequest;
  readonly #workload: QueriesWorkload;
  readonly #connections: Connections;
  readonly #load: ReadLoad;
  #right: RightAnswer | null = null;
  /** Reads of the last run that failed and count as successes, and the first failure: the published method. */
  #failed = 0;
  #hidden: string | null = null;
  #checked = 0;

  constructor(request: OpenRequest, workload: QueriesWorkload, connections: Connections) {
    this.#request = request;
    this.#workload = workload;
    this.#connections = connections;
    this.#load = new ReadLoad(workload.size, workload.volume);
  }

  /** @throws {Error} when the store cannot be reached: the API has no bulk load of readings */
  async load(): Promise<number | null> {
    if (this.#connections.storeUrl === null) {
      throw new Error('readings are loaded over a STORE URL, and this place has none: use the lab');
    }
    const store = await this.#connections.store();
    const begun = performance.now();
    return (await loadReadings(store, this.#load)) ? (performance.now() - begun) / 1000 : null;
  }

  async checkRestored(): Promise<void> {
    if (await loadReadings(await this.#connections.store(), this.#load)) {
      throw new Error('the restored readings were not complete');
    }
  }

  async begin(): Promise<TrialOperations> {
    this.#right ??= new RightAnswer(this.#load, this.#workload.query);
    this.#checked = 0;
    this.#failed = 0;
    this.#hidden = null;
    if (this.#request.driver !== 'published') {
      const ask = await this.#ask();
      return { turn: (limits, observer) => this.#measure(ask, limits, observer), async end() {} };
    }
    const published = publishedQueries(this.#request.store!, this.#load, this.#workload.query);
    await published.open();
    return {
      turn: (limits, observer) => this.#measurePublished(published, limits, observer),
      end: () => published.close(),
    };
  }

  /** @throws {TypeError} k6 does no queries */
  replay(): void {
    throw new TypeError('no other program does these queries');
  }

  /** Nothing was written. */
  async verify(): Promise<Verification> {
    const example =
      this.#hidden === null
        ? null
        : `${this.#failed} reads failed, and count as latencies as published: ${this.#hidden}`;
    return { checked: this.#checked, damaged: 0, stale: 0, example };
  }

  /** The readings stay for the other drivers and series. */
  async drop(): Promise<void> {}

  async #measure(ask: Ask, limits: TurnLimits, observer: TrialObserver): Promise<ObservedRun> {
    const { threads, rate } = this.#request.settings;
    const kept: Kept[] = [];
    const most = CHECKED - this.#checked;
    const perform = async (thread: number, due: number | null): Promise<boolean> => {
      const begun = due ?? performance.now();
      const { outcome, value } = await ask();
      const end = performance.now();
      if (outcome === 'OK' && kept.length < most) kept.push({ value, begun, end, thread });
      else observer.ended('query', outcome, begun, end, thread, false);
      return outcome === 'OK';
    };
    const observed = await runClosedModel(perform, { threads, rate, ...limits });
    observer.endTurn();
    let wrong = 0;
    for (const { value, begun, end, thread } of kept) {
      const answer = value();
      const right = answer !== null && this.#right!.accepts(answer);
      if (!right) wrong += 1;
      observer.ended('query', right ? 'OK' : 'UNEXPECTED_STATE', begun, end, thread, false);
      observer.verified(right);
    }
    this.#checked += kept.length;
    return { ...observed, done: observed.done - wrong };
  }

  /** Errors count as latencies, answers are not looked at, and latencies are whole milliseconds. */
  async #measurePublished(
    published: PublishedQueries,
    limits: TurnLimits,
    observer: TrialObserver,
  ): Promise<ObservedRun> {
    const { threads, rate } = this.#request.settings;
    const perform = async (thread: number, due: number | null): Promise<boolean> => {
      const begun = due ?? performance.now();
      const problem = await published.ask();
      const end = begun + Math.floor(performance.now() - begun);
      if (problem !== null) {
        this.#failed += 1;
        this.#hidden ??= problem;
      }
      observer.ended('query', 'OK', begun, end, thread, false);
      return true;
    };
    const observed = await runClosedModel(perform, { threads, rate, ...limits });
    await published.endTurn();
    return observed;
  }

  async #ask(): Promise<Ask> {
    const { api } = this.#connections;
    const { query } = this.#workload;
    if (api !== null) return appQuery(api.url, api.client, this.#load, query);
    return rawQuery(await this.#connections.store(), this.#load, query);
  }
}
