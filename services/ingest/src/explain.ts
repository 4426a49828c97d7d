import {
  type DecodeContext,
  DecodeError,
  type ExplainDocument,
  type Notes,
  toReadingDocumentWithUnit,
  unitProblem,
} from '@tidegauge/readings';
import { type Message, numberFix, proposalsFor, triedFix } from './fixes.ts';
import type { Route, Router } from './routes.ts';
import { timedAtReceipt } from './sensor-clocks.ts';

/** Readings and ignored fields of an explanation at most. */
const MOST_LISTED = 1000;
/** Different doubts of an explanation at most. A payload has few fields with times. */
const MOST_DOUBTS = 20;

/**
 * What the routes make of a message: its route and names, the readings with their units and the ignored fields, or the
 * reason why it would go to quarantine, and a setting that changes that. Nothing is stored or counted.
 *
 * @param received the time of receipt to assume, microseconds since the epoch
 * @param isLive whether a decoder with state learns from the message, as from one that has just arrived
 */
export function explain(
  router: Router,
  topic: string,
  payload: Uint8Array,
  received: number,
  { isLive = false }: { readonly isLive?: boolean } = {},
): ExplainDocument {
  const { route, device, metric, full, captured, error } = router.resolve(topic);
  const notes = new Collected();
  const context = { device, metric, full, received, captured, topic, notes };
  const decoded = error ?? decode(route!, payload, context, isLive);
  const failed = decoded instanceof DecodeError ? decoded : null;
  const readings = decoded instanceof DecodeError ? [] : timedAtReceipt(decoded);
  return {
    topic,
    route: route === null ? null : routeDocument(route),
    device,
    metric,
    total: readings.length,
    readings: readings.slice(0, MOST_LISTED).map((reading) => {
      const unit = notes.units.get(`${reading.device} ${reading.metric}`);
      return toReadingDocumentWithUnit(reading, unit ?? null);
    }),
    ignored: notes.ignoredFields,
    ...(notes.doubts.length === 0 ? {} : { doubts: notes.doubts }),
    ...(failed === null ? notes.fix() : failure(failed, { topic, payload, received }, router)),
  };
}

function routeDocument({ name, template, format, preset }: Route) {
  return { name, topic: template.template, format, ...(preset === null ? {} : { preset }) };
}

/** Why a message is not read, and what would change that. */
function failure(error: DecodeError, message: Message, router: Router) {
  const { reason, message: text, position } = error;
  return {
    error: { reason, message: text, position },
    fix: triedFix(error, message, router),
    ...(reason === 'unknown_topic' ? { proposals: proposalsFor(message, router) } : {}),
  };
}

function decode({ stateful, decode }: Route, payload: Uint8Array, context: DecodeContext, isLive: boolean) {
  return isLive && stateful !== null ? stateful.decode(payload, context).decoded : decode(payload, context);
}

class Collected implements Notes {
  readonly units = new Map<string, string>();
  readonly doubts: { field: string; reason: string }[] = [];
  readonly ignoredFields: { field: string; reason: string }[] = [];

  doubt(field: string, why: string): void {
    const isKnown = this.doubts.some((each) => each.field === field && each.reason === why);
    if (!isKnown && this.doubts.length < MOST_DOUBTS) this.doubts.push({ field, reason: why });
  }

  unit(device: string, metric: string, unit: string): void {
    // As the store keeps it. A unit is a text of the payload, of any length, and is in the answer for each reading.
    if (unitProblem(unit) !== null) return;
    this.units.set(`${device} ${metric}`, unit);
  }

  /** The setting for a text that can be a number. */
  fix(): { fix?: string } {
    const [fix] = this.ignoredFields.flatMap(({ reason }) => numberFix(reason) ?? []);
    return fix === undefined ? {} : { fix };
  }

  ignored(field: string, why: string): void {
    if (this.ignoredFields.length < MOST_LISTED) this.ignoredFields.push({ field, reason: why });
  }
}
