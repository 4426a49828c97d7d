import { sleep } from 'k6';
import exec from 'k6/execution';
import type { Options, Scenario } from 'k6/options';
import type { ClosedModel, Model, Part, Plan } from '../src/operations/plan.ts';
import { constantRate, intendedStarts, totalMs } from '../src/operations/schedule.ts';
import { TREND_COLUMNS } from '../src/results/summary.ts';

/** The plan that `npm run loadtest` wrote. */
export const plan: Plan = JSON.parse(open(__ENV.PLAN!));

/**
 * The part of the plan for a profile.
 *
 * @throws {Error} when the plan has none
 */
export function partOf<P extends Part['profile']>(profile: P): Extract<Part, { readonly profile: P }> {
  const part = plan.parts.find((each) => each.profile === profile);
  if (part === undefined) throw new Error(`the plan has no part for ${profile}`);
  return part as Extract<Part, { readonly profile: P }>;
}

/** The number of this virtual user, from 0. It is -1 when k6 only reads the options of the script. */
export const thread = __VU - 1;

const GRACE = '30s';
/** A limit that no run reaches, for a closed model that ends after its operations. */
const DAYS = '168h';

interface ScriptOptions {
  /** In a closed model, a thread has one iteration for all its operations. Otherwise it has one for each of them. */
  readonly loop: boolean;
}

/** The options of k6 for a plan. Each part of the plan runs the exported function with the name of its profile. */
export function optionsOf({ parts, thresholds }: Plan, { loop }: ScriptOptions = { loop: false }): Options {
  return {
    scenarios: Object.fromEntries(parts.map((part) => [part.profile, scenarioOf(part, loop)])),
    thresholds: Object.fromEntries(
      Object.entries(thresholds).map(([metric, conditions]) => [metric, [...conditions]]),
    ),
    summaryTrendStats: [...TREND_COLUMNS],
    // Each tag costs time and memory per request, and the reports do not use them.
    systemTags: [],
    noConnectionReuse: false,
    // A redirect is reported as it is, and not followed.
    maxRedirects: 0,
  };
}

function scenarioOf({ profile, model }: Part, loop: boolean): Scenario {
  const common = { exec: profile, gracefulStop: GRACE } as const;
  if (model.kind === 'closed') return { ...common, ...closed(model, loop) };
  const { threads, startRate, stages } = model;
  // All threads are made before the start, because k6 drops an iteration while it makes a thread for it.
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

function closed({ threads, operations, durationMs }: ClosedModel, loop: boolean) {
  if (operations === null && !loop) {
    return { executor: 'constant-vus', vus: threads, duration: milliseconds(durationMs!) } as const;
  }
  return {
    executor: 'per-vu-iterations',
    vus: threads,
    iterations: loop ? 1 : Math.ceil(operations! / threads),
    maxDuration: durationMs === null ? DAYS : milliseconds(durationMs),
  } as const;
}

function milliseconds(value: number): string {
  return `${value}ms`;
}

/**
 * Computes the scheduled start of each iteration of one virtual user, and delays an iteration that is early. It uses
 * k6's clock, in milliseconds with fractions, because Date has whole milliseconds only. The clock starts with the
 * scenarios, because no script has a setup().
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
    this.#share = (model.kind === 'closed' ? shareOf(model, thread) : null) ?? Number.POSITIVE_INFINITY;
  }

  now(): number {
    return this.#instance.currentTestRunDuration;
  }

  /** The scheduled start of this iteration's operation, on this clock. null: this thread has done its share. */
  next(): number | null {
    if (this.#due !== null) return this.#due(this.#scenario.iterationInTest);
    if (this.#done >= this.#share) return null;
    const number = this.#done++;
    const { rate, threads } = this.#model as ClosedModel;
    const now = this.now();
    if (rate === null) return now;
    // As YCSB's -target: each thread has its share of the rate. The first operations are spread over one interval.
    const interval = (threads * 1000) / rate;
    this.#first ??= now + (thread / threads) * interval;
    const due = this.#first + number * interval;
    if (due > now) sleep((due - now) / 1000);
    return due;
  }
}

/**
 * Number of operations of one thread, as in YCSB: the same number for all, and the remainder for the first ones. null: no
 * limit.
 */
export function shareOf({ operations, threads }: ClosedModel, thread: number): number | null {
  if (operations === null) return null;
  return Math.floor(operations / threads) + (thread < operations % threads ? 1 : 0);
}
