import { setTimeout as sleep } from 'node:timers/promises';
import {
  DecodeError,
  type DeliveryDocument,
  parseTime,
  type QuarantineStepDocument,
} from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import type { Request, RequestHandler } from 'express';
import type { Pipeline } from './pipeline.ts';
import type { Quarantine, Selection, Walk } from './quarantine.ts';
import { decodeMessage } from './raw-message.ts';
import type { Router } from './routes.ts';

/** Messages in one step at most. */
const MOST = 1000;
/** After this time in a step no further messages are started. */
const STEP_MS = 2000;
const PATIENCE_MS = 4000;
/** Messages on their way to the store at a time, and the bytes of their payloads. A single message may be larger. */
const AT_ONCE = 64;
const AT_ONCE_BYTES = 4 * 1024 * 1024;
/** Messages discarded in one transaction. */
const DISCARDED_AT_ONCE = 250;

export interface StepOptions {
  readonly pipeline: Pipeline;
  readonly quarantine: Quarantine;
  readonly router: Router;
  readonly instance: string;
  /**
   * The longest time from the start of a step that the answer waits for messages on their way to the store. Default:
   * 4 s.
   */
  readonly patienceMs?: number;
}

/** The parameters of one step. */
interface Step {
  readonly walk: Walk;
  readonly selection: Selection;
  readonly limit: number;
}

interface Sum {
  tried: number;
  removed: number;
  stored: number;
  duplicate: number;
}

/**
 * Handlers that replay and discard many messages, in steps of bounded work, memory and time. The client repeats the
 * request with `next` as `cursor` until `next` is null. A pass goes from the oldest message to the newest that
 * existed when it started, so it ends although messages arrive or fail again meanwhile.
 */
export function stepHandlers(options: StepOptions): Readonly<Record<'discard' | 'replay', RequestHandler>> {
  let replaying = false;

  const discardStep: RequestHandler = async (request, response) => {
    const step = stepOf(options, request);
    response.json(step === null ? documentOf(nothing(), null) : await discard(options.quarantine, step));
  };

  const replayStep: RequestHandler = async (request, response) => {
    const step = stepOf(options, request);
    if (step === null) {
      response.json(documentOf(nothing(), null));
      return;
    }
    if (replaying) {
      const detail = 'Another replay of this quarantine is still running.';
      throw new Problem(503, 'Busy', detail, { retryAfter: 2 });
    }
    replaying = true;
    const work = new Replay(options, step);
    try {
      response.json(await work.run());
    } finally {
      // Messages that are not stored yet still hold their memory.
      void work.end().then(() => {
        replaying = false;
      });
    }
  };

  return { discard: discardStep, replay: replayStep };
}

/** @throws {Problem} 503 while readings cannot be stored, or during a stop, when they might never be stored */
export function checkTaking({ full, trouble, stopping }: Pipeline): void {
  if (stopping) throw new Problem(503, 'Stopping', 'This ingest process is stopping.', { retryAfter: 2 });
  if (!full && trouble === null) return;
  const detail = trouble ?? 'Too many readings wait to be stored.';
  throw new Problem(503, 'Cannot store now', detail, { retryAfter: 2 });
}

/**
 * Changes the quarantine.
 *
 * @throws {Problem} 503 when its file cannot be written, for example because the disk is full
 */
export function writing<T>(change: () => T): T {
  try {
    return change();
  } catch (error) {
    const detail = `the quarantine cannot be written: ${(error as Error).message}: check the disk of DATA_DIR`;
    throw new Problem(503, 'Cannot write now', detail, { retryAfter: 5 });
  }
}

async function discard(
  quarantine: Quarantine,
  { walk, selection, limit }: Step,
): Promise<QuarantineStepDocument> {
  const sum = nothing();
  const started = performance.now();
  let place: Walk | null = walk;
  while (place !== null && sum.tried < limit && performance.now() - started < STEP_MS) {
    const next = quarantine.next(place, selection, Math.min(DISCARDED_AT_ONCE, limit - sum.tried));
    const ids = next.found.map(({ id }) => id);
    if (ids.length > 0) sum.removed += writing(() => quarantine.discardAll(ids));
    sum.tried = sum.removed;
    place = next.walk;
    // Lets the process receive messages between two transactions.
    await sleep(0);
  }
  return documentOf(sum, place);
}

/** One step of a replay. */
class Replay {
  readonly #options: StepOptions;
  readonly #step: Step;
  readonly #sum = nothing();
  /** Ids of messages on their way to the store. The promises resolve when the outcome is known. */
  readonly #pending = new Map<number, Promise<void>>();
  #done: number[] = [];

  constructor(options: StepOptions, step: Step) {
    this.#options = options;
    this.#step = step;
  }

  /** Resolves when all messages of the step are settled, without a time limit. */
  async end(): Promise<void> {
    await this.#settled();
    try {
      this.#discardDone();
    } catch {
      // The items stay in quarantine. Their readings count as duplicates when they are replayed again.
    }
  }

  /** @throws {Problem} 503 when readings cannot be stored, or the quarantine cannot be written */
  async run(): Promise<QuarantineStepDocument> {
    const { pipeline, patienceMs = PATIENCE_MS } = this.#options;
    const { walk, limit } = this.#step;
    const sum = this.#sum;
    const started = performance.now();
    let place: Walk | null = walk;
    checkTaking(pipeline);
    while (place !== null && sum.tried < limit && performance.now() - started < STEP_MS) {
      if (pipeline.full || pipeline.trouble !== null || pipeline.stopping) break;
      const next = this.#begin(place, limit - sum.tried);
      await this.#wait(patienceMs - (performance.now() - started));
      this.#discardDone();
      const [first] = this.#pending.keys();
      // The next request reports the outcome of messages that are not stored yet.
      if (first !== undefined) return documentOf(sum, { after: first - 1, upTo: walk.upTo });
      place = next;
      await sleep(0);
    }
    return documentOf(sum, place);
  }

  /** Starts some messages. Returns the position after them. */
  #begin(place: Walk, limit: number): Walk | null {
    const { quarantine } = this.#options;
    const { found, walk } = quarantine.next(place, this.#step.selection, Math.min(AT_ONCE, limit));
    let bytes = 0;
    for (const [index, { id, size }] of found.entries()) {
      bytes += size;
      if (index > 0 && bytes > AT_ONCE_BYTES) return { after: found[index - 1]!.id, upTo: place.upTo };
      this.#try(id);
    }
    return walk;
  }

  #try(id: number): void {
    const { quarantine, router, pipeline } = this.#options;
    const entry = quarantine.soundEntry(id);
    if (entry === null) return;
    const decoded = decodeMessage(router, entry, entry.received, true);
    if (decoded instanceof DecodeError) {
      this.#sum.tried++;
      return;
    }
    const settled = pipeline.replay(entry, decoded).then((outcome) => this.#finish(id, outcome));
    this.#pending.set(id, settled);
  }

  /**
   * A message that the store rejected again has a new entry with the current reason, so the old entry is discarded.
   */
  #finish(id: number, { stored, duplicate, quarantined }: DeliveryDocument): void {
    this.#pending.delete(id);
    this.#done.push(id);
    const sum = this.#sum;
    sum.tried++;
    if (quarantined === 0) sum.removed++;
    sum.stored += stored;
    sum.duplicate += duplicate;
  }

  async #wait(ms: number): Promise<void> {
    if (this.#pending.size === 0) return;
    const timeout = new AbortController();
    const late = sleep(Math.max(0, ms), undefined, { signal: timeout.signal }).catch(() => {});
    await Promise.race([this.#settled(), late]);
    timeout.abort();
  }

  async #settled(): Promise<void> {
    await Promise.all(this.#pending.values());
  }

  #discardDone(): void {
    const done = this.#done;
    this.#done = [];
    if (done.length > 0) writing(() => this.#options.quarantine.discardAll(done));
  }
}

/**
 * The step of a request; null when it selects messages of another instance only.
 *
 * @throws {Problem} 400
 */
function stepOf({ quarantine, instance }: StepOptions, request: Request): Step | null {
  const { limit, reason, until, cursor } = parametersOf(request);
  if (request.query.instance !== undefined && request.query.instance !== instance) return null;
  return { walk: cursor ?? quarantine.walk(), selection: { reason, until }, limit };
}

function parametersOf({ query }: Request) {
  const { limit = String(MOST), reason = null, until = null, cursor = null } = query;
  const most = Number(limit);
  if (!Number.isInteger(most) || most < 1 || most > MOST)
    throw bad(`limit must be a whole number from 1 to ${MOST}.`);
  if (reason !== null && typeof reason !== 'string') throw bad('reason must be given once.');
  const time = until === null ? null : parseTime(String(until));
  if (until !== null && time === null) throw bad('until must be a time such as 2026-11-21T14:00:00Z.');
  return { limit: most, reason, until: time, cursor: cursor === null ? null : walkOf(String(cursor)) };
}

function walkOf(cursor: string): Walk {
  const [, after, upTo] = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor) ?? [];
  if (after === undefined) throw bad('cursor must be the value of next in an earlier answer.');
  return { after: Number(after), upTo: Number(upTo) };
}

function bad(detail: string): Problem {
  return new Problem(400, 'Bad parameter', detail);
}

function nothing(): Sum {
  return { tried: 0, removed: 0, stored: 0, duplicate: 0 };
}

function documentOf(sum: Sum, place: Walk | null): QuarantineStepDocument {
  return { ...sum, next: place === null ? null : `${place.after}.${place.upTo}` };
}
