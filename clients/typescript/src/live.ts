import { createParser } from 'eventsource-parser';
import type { Client } from 'openapi-fetch';
import type { components, paths } from './generated/api.ts';
import { dataOf } from './problem-error.ts';
import { isTemporary, pause, waitBefore } from './retry.ts';

export type Reading = components['schemas']['Reading'];

export interface LiveOptions {
  /** This device and all devices below it. Default: all devices. */
  readonly device?: string;
  /** Default: all metrics. */
  readonly metric?: string;
  /** The id of the last event that an earlier stream gave: continues after it. */
  readonly lastEventId?: string;
  /** Ends the stream without an error. */
  readonly signal?: AbortSignal;
}

/** Readings that were just committed, or the number of readings that this client missed: null when it is unknown. */
export type LiveEvent =
  | { readonly type: 'readings'; readonly readings: readonly Reading[]; readonly id: string | null }
  | { readonly type: 'gap'; readonly missed: number | null; readonly id: string | null };

/** The API sends a comment every 15 s. A stream that is silent for longer than this is broken. */
const SILENT_MS = 45_000;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 10_000;
/** Largest event, characters. */
const MAX_EVENT = 16 * 1024 * 1024;

/**
 * Follows the live stream, and continues it after a lost connection. Readings that the API no longer has are reported as a
 * `gap`. A slow consumer slows the stream down: events are not collected here.
 *
 * @throws {ProblemError} when the API refuses the request, for example without a valid token
 */
export async function* live(api: Client<paths>, options: LiveOptions = {}): AsyncGenerator<LiveEvent, void> {
  const { signal } = options;
  const position = { id: options.lastEventId ?? null };
  let delayMs = FIRST_DELAY_MS;
  let isLost = false;
  while (!signal?.aborted) {
    let failure: unknown = null;
    try {
      for await (const event of follow(api, options, position)) {
        delayMs = FIRST_DELAY_MS;
        if (event !== 'open') yield event;
        else yield* gapBefore(isLost, position.id);
        isLost = true;
      }
    } catch (error) {
      if (!signal?.aborted && !isTemporary(error)) throw error;
      failure = error;
    }
    // Only an abort ends the pause early.
    await pause(waitBefore(delayMs, failure), signal).catch(() => {});
    delayMs = Math.min(2 * delayMs, MAX_DELAY_MS);
  }
}

/** Without an id, the API cannot continue the stream after a lost connection. */
function gapBefore(isLost: boolean, id: string | null): LiveEvent[] {
  return isLost && id === null ? [{ type: 'gap', missed: null, id: null }] : [];
}

/** One connection: 'open' first, then its events. Returns when the connection ends. */
async function* follow(
  api: Client<paths>,
  { device, metric, signal }: LiveOptions,
  position: { id: string | null },
): AsyncGenerator<LiveEvent | 'open', void> {
  const silence = new AbortController();
  const stopped = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
  const within = async <T>(promise: Promise<T>): Promise<T> => {
    const reason = new DOMException('the live stream is silent', 'TimeoutError');
    const timer = setTimeout(() => silence.abort(reason), SILENT_MS);
    return promise.finally(() => clearTimeout(timer));
  };
  const body = dataOf(
    await within(
      api.GET('/v1/live', {
        params: {
          query: { ...(device && { device }), ...(metric && { metric }) },
          ...(position.id !== null && { header: { 'Last-Event-ID': position.id } }),
        },
        parseAs: 'stream',
        signal: stopped,
      }),
    ),
  ) as ReadableStream<Uint8Array>;
  yield 'open';
  let events: LiveEvent[] = [];
  let failure: Error | null = null;
  const parser = createParser({
    maxBufferSize: MAX_EVENT,
    onEvent: ({ id = null, event, data }) => {
      if (event === 'readings') events.push({ type: 'readings', readings: JSON.parse(data).readings, id });
      if (event === 'gap') events.push({ type: 'gap', missed: JSON.parse(data).missed, id });
    },
    // Comments carry an id too, which keeps the position current while nothing matches.
    onId: (id) => {
      position.id = id;
    },
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') failure = error;
    },
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await within(reader.read());
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      if (failure !== null) throw failure;
      yield* events;
      events = [];
    }
  } finally {
    // Closes the connection when the caller leaves its loop.
    await reader.cancel().catch(() => {});
  }
}
