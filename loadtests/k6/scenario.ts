import { sleep } from 'k6';
import exec from 'k6/execution';
import type { Options, Scenario } from 'k6/options';
import type { ClosedModel, Model, Part, Plan } from '../src/operations/plan.ts';
import { constantRate, intendedStarts, totalMs } from '../src/operations/schedule.ts';
import { TREND_COLUMNS } from '../src/results/summary.ts';

/** The plan that `npm run loadtest` wrote. */
export const plan: Plan = JSON.parse(open(__ENV.PLAN!));

/** The part of the plan for a profile; the scripts of others are not asked for it. */
export function partOf<P extends Part['profile']>(profile: P): Extract<Part, { readonly profile: P }> {
  const part = plan.parts.find((each) => each.profile === profile);
  if (part === undefined) throw new Error(`the plan has no part for ${profile}`);
  return part as Extract<Part, { readonly profile: P }>;
}

/** The number of this virtual user, from 0 on; below it where k6 only looks at the script. */
export const thread = __VU - 1;

const GRACE = '30s';
/** Longer than any run: a closed model ends with its operations. */
const DAYS = '168h';

/** What k6 is to do; each part of the plan runs the exported function of its profile's name. */
export function optionsOf({ parts, thresholds }: Plan): Options {
  return {
    scenarios: Object.fromEntries(parts.map((part) => [part.profile, scenarioOf(part)])),
    thresholds: Object.fromEntries(
      Object.entries(thresholds).map(([metric, conditions]) => [metric, [...conditions]]),
    ),
    summaryTrendStats: [...TREND_COLUMNS],
    // Each costs time and memory per request, and our reports do not use them.
    systemTags: [],
    noConnectionReuse: false,
    // Nothing is looked up, waited for or followed that was not asked for.
    maxRedirects: 0,
  };
}

function scenarioOf({ profile, model }: Part): Scenario {
  const common = { exec: profile, gracefulStop: GRACE } as const;
  if (model.kind === 'closed') return { ...common, ...closed(model) };
  const { threads, startRate, stages } = model;
  // All threads are there from the start: k6 drops the iteration for which it begins to make one.
  const open = { ...common, preAllocatedVUs: threads, maxVUs: threads, timeUnit: '1s' } as const;
  const rate = constantRate(model);
  if (rate !== null) {
    return { ...open, executor: 'constant-arrival-rate', rate, duration: milliseconds(totalMs(stages)) };
  }
  return {
    ...open,
    executor: 'ramping-arrival-rate',
    startRate,
    stages: stages.map((stage) => ({ target: stage.rate, duration: milliseconds(stage.durationMs) })),
  };
}

function closed({ threads, operations, durationMs }: ClosedModel) {
  if (operations === null) {
    return { executor: 'constant-vus', vus: threads, duration: milliseconds(durationMs!) } as const;
  }
  return {
    executor: 'per-vu-iterations',
    vus: threads,
    iterations: Math.ceil(operations / threads),
    maxDuration: durationMs === null ? DAYS : milliseconds(durationMs),
  } as const;
}

function milliseconds(value: number): string {
  return `${value}ms`;
}

/**
 * Gives the iterations of one virtual user their intended start, and delays those that are early. Its
 * clock is k6's own, in milliseconds with fractions: Date has whole ones only. It starts with the scenarios, for no
 * script has a setup().
 */
export class Pace {
  readonly #instance = exec.instance;
  readonly #scenario = exec.scenario;
  readonly #model: Model;
  readonly #due: ((n: number) => number) | null;
  readonly #share: number;
  #done = 0;
  #first: number | null = null;

  constructor(model: Model) {
    this.#model = model;
    this.#due = model.kind === 'open' ? intendedStarts(model) : null;
    this.#share = model.kind === 'closed' ? shareOf(model, thread) : Number.POSITIVE_INFINITY;
  }

  now(): number {
    return this.#instance.currentTestRunDuration;
  }

  /** When the operation of this iteration should begin, on this clock; null when this thread has done its share. */
  next(): number | null {
    if (this.#due !== null) return this.#due(this.#scenario.iterationInTest);
    if (this.#done >= this.#share) return null;
    const number = this.#done++;
    const { rate, threads } = this.#model as ClosedModel;
    const now = this.now();
    if (rate === null) return now;
    // YCSB's -target: each thread has its share of the rate, beginning anywhere within its first interval.
    const interval = (threads * 1000) / rate;
    this.#first ??= now + (thread / threads) * interval;
    const due = this.#first + number * interval;
    if (due > now) sleep((due - now) / 1000);
    return due;
  }
}

/** Operations of one thread, as YCSB shares them out: all have as many, but for the first few that take the rest. */
function shareOf({ operations, threads }: ClosedModel, thread: number): number {
  if (operations === null) return Number.POSITIVE_INFINITY;
  return Math.floor(operations / threads) + (thread < operations % threads ? 1 : 0);
}
