import { setImmediate } from 'node:timers/promises';
import {
  type DeliveryDocument,
  deviceNameProblem,
  influxPrecision,
  type LinesDocument,
  now,
  splitLinesInSteps,
} from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import type { Pipeline } from './pipeline.ts';
import { checkTaking } from './quarantine-steps.ts';
import { influxMessage, influxOptionsOf, type RawMessage } from './raw-message.ts';
import type { Router } from './routes.ts';

/** Readings of one message. A request is divided into several, so that it does not fill the memory for readings. */
const MESSAGE_READINGS = 5000;
/** Longest name of a database, in UTF-16 units. */
const MAX_DATABASE = 200;

/** The parameters of `POST /lines`. */
export interface LinesRequest {
  /** Database and retention policy, or bucket: `{db}` in the template of devices. */
  readonly database: string;
  /** As `influxPrecision` reads it. */
  readonly precision: string;
  /** All devices of the request are this one or below it; null without such a limit. */
  readonly device: string | null;
  /** With true, nothing of a request is stored when one line of it is no line protocol (InfluxDB 2.x). */
  readonly whole: boolean;
}

/** @throws {Problem} 400 */
export function linesRequest(query: URLSearchParams): LinesRequest {
  const unknown = [...query.keys()].find((name) => !['db', 'precision', 'device', 'whole'].includes(name));
  if (unknown !== undefined) throw bad(`${unknown} is not a parameter of this request.`);
  const database = query.get('db') ?? '';
  if (database === '' || database.length > MAX_DATABASE)
    throw bad(`db must be a name of 1 to ${MAX_DATABASE} characters.`);
  const precision = query.get('precision') ?? 'ns';
  if (influxPrecision(precision) === null) throw bad('precision must be ns, us, ms, s, m or h.');
  const device = query.get('device');
  const problem = device === null ? null : deviceNameProblem(device);
  if (problem !== null) throw bad(`device: ${problem}.`);
  return { database, precision, device, whole: query.get('whole') === 'true' };
}

/**
 * Stores the lines of an HTTP request. Lines that cannot be decoded are quarantined as one message, and reported.
 * Resolves when all lines are settled.
 *
 * @param client the login or address of the sender
 * @throws {Problem} 503 when readings cannot be stored now. A part of the lines may be stored then; they can be sent
 *   again, because a reading with the same time and value is a duplicate.
 */
export async function takeLines(
  pipeline: Pipeline,
  router: Router,
  { database, precision, device, whole }: LinesRequest,
  payload: Uint8Array,
  client?: string,
): Promise<LinesDocument> {
  checkTaking(pipeline);
  const message = influxMessage({ database, precision, device }, payload);
  const context = { device, metric: null, received: now() };
  const options = influxOptionsOf(router, message);
  const steps = splitLinesInSteps(payload, options, context, MESSAGE_READINGS);
  let step = steps.next();
  while (step.done !== true) {
    await setImmediate();
    step = steps.next();
  }
  const split = step.value;
  const { refused, errors, refusedLines, isMalformed } = split;
  const nothing = whole && isMalformed;
  const parts = nothing ? [payload] : [...split.valid, ...(refused === null ? [] : [refused])];
  let sum: DeliveryDocument = { received: 0, stored: 0, duplicate: 0, quarantined: 0 };
  for (const part of parts) {
    checkTaking(pipeline);
    sum = add(sum, await pipeline.deliver({ ...message, payload: part } satisfies RawMessage, client));
  }
  return {
    ...sum,
    refusedLines,
    isMalformed,
    errors: errors.map(({ reason, message: detail, position }) => ({ reason, detail, position })),
  };
}

function add(a: DeliveryDocument, b: DeliveryDocument): DeliveryDocument {
  return {
    received: a.received + b.received,
    stored: a.stored + b.stored,
    duplicate: a.duplicate + b.duplicate,
    quarantined: a.quarantined + b.quarantined,
  };
}

function bad(detail: string): Problem {
  return new Problem(400, 'Bad parameter', detail);
}
