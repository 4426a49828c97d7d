import { setImmediate as pause } from 'node:timers/promises';
import type { CauseDocument, CausesDocument, QuarantineDocument } from '@tidegauge/readings';
import { fixOf, proposalsFor, suggestedTopic } from './fixes.ts';
import type { Quarantine } from './quarantine.ts';
import type { Router } from './routes.ts';

/** The newest messages that are read. */
const MOST_MESSAGES = 10_000;
/** Messages that are read at once. In between, the process receives messages. */
const STEP = 250;
/** Causes in the list: at most about 300 KiB, because topics and details are shortened. */
const MOST_CAUSES = 200;

/** A longer payload is not tried with a proposed route, bytes. */
const MOST_TRIED = 4096;

type Cause = Omit<CauseDocument, 'count' | 'last'>;
interface Counted extends Omit<Cause, 'proposals' | 'fix'> {
  proposals: CauseDocument['proposals'];
  fix: CauseDocument['fix'];
  count: number;
  readonly last: CauseDocument['last'];
}

/**
 * The quarantine by cause: reason, route or pattern of topics, and the setting that would change it. It reads the newest
 * 10,000 messages, without their payloads, in steps of bounded time.
 */
export async function causesOf(
  quarantine: Quarantine,
  router: Router,
  instance: string,
): Promise<CausesDocument> {
  const causes = new Map<string, Counted>();
  let messages = 0;
  let unlisted = 0;
  let before: number | null = null;
  while (messages < MOST_MESSAGES) {
    const found = quarantine.newest(STEP, before);
    for (const { document } of found) {
      const cause = causeOf(router, document);
      const key = [cause.reason, cause.route, cause.topic, cause.fix].join('\n');
      const known = causes.get(key);
      if (known !== undefined) known.count++;
      else if (causes.size < MOST_CAUSES) causes.set(key, { ...cause, count: 1, last: lastOf(document) });
      else unlisted++;
    }
    messages += found.length;
    if (found.length < STEP) break;
    before = found.at(-1)!.id;
    await pause();
  }
  const list = [...causes.values()].toSorted((a, b) => b.count - a.count);
  if (router.levels === 'drop') for (const cause of list) proposeByPayload(quarantine, cause);
  return { instance, causes: list, messages, total: quarantine.total, unlisted };
}

/**
 * Proposes a route that keeps all levels of the topic when the newest message names its values: other routes would drop
 * the last one.
 */
function proposeByPayload(quarantine: Quarantine, cause: Counted): void {
  if (cause.proposals.length === 0) return;
  const { id, topic, detail } = cause.last;
  const payload = quarantine.read(Number(id.slice(id.lastIndexOf('.') + 1)), 0, MOST_TRIED + 1);
  if (payload.length > MOST_TRIED) return;
  cause.proposals = proposalsFor(topic, payload);
  cause.fix = fixOf({ reason: cause.reason, message: detail }, topic, null, payload);
}

function causeOf(router: Router, { source, topic, reason, detail }: QuarantineDocument): Cause {
  // The request of a message from HTTP. It uses no route, so no setting of a route changes it.
  if (source === 'http') {
    const [request] = topic.split('?', 1);
    return { reason, route: null, topic: request!, fix: fixOfHttp(reason), proposals: [] };
  }
  const { route } = router.resolve(topic);
  if (route === null) {
    return {
      reason,
      route: null,
      topic: suggestedTopic(topic) ?? topic,
      fix: fixOf({ reason, message: detail }, topic, null),
      proposals: reason === 'unknown_topic' ? proposalsFor(topic) : [],
    };
  }
  const fix =
    reason === 'unknown_topic'
      ? 'a route takes these topics now: replay the messages'
      : fixOf({ reason, message: detail }, topic, route.preset);
  return { reason, route: route.name, topic: route.template.template, fix, proposals: [] };
}

function fixOfHttp(reason: string): string | null {
  return reason === 'too_large' ? fixOf({ reason, message: '' }, '', null) : null;
}

function lastOf({ id, topic, detail, received }: QuarantineDocument): CauseDocument['last'] {
  return { id, topic, detail, received };
}
