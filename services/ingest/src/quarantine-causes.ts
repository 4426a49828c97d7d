import { setImmediate as pause } from 'node:timers/promises';
import type { CauseDocument, CausesDocument, QuarantineDocument } from '@tidegauge/readings';
import { fixOf, LARGEST_TRIED, type Message, proposalsFor, suggestedTopic, triedFix } from './fixes.ts';
import type { Quarantine } from './quarantine.ts';
import type { Router } from './routes.ts';

/** The newest messages that are read. */
const MOST_MESSAGES = 10_000;
/** Messages that are read at once. In between, the process receives messages. */
const STEP = 250;
/** Causes in the list: at most about 300 KiB, because topics and details are shortened. */
const MOST_CAUSES = 200;

type Cause = Omit<CauseDocument, 'count' | 'last'>;
interface Counted extends Cause {
  count: number;
  readonly last: CauseDocument['last'];
  /** The newest message of the cause: its number, and the bytes of its payload. */
  readonly newest: { readonly id: number; readonly size: number };
}

/**
 * The quarantine by cause: reason, route or pattern of topics, and the setting that would change it. It reads the newest
 * 10,000 messages, without their payloads, in steps of bounded time. The fix of a cause was tried on its newest message.
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
    for (const { id, document } of found) {
      const cause = causeOf(router, document);
      const key = [cause.reason, cause.route, cause.topic].join('\n');
      const known = causes.get(key);
      if (known !== undefined) known.count++;
      else if (causes.size < MOST_CAUSES) {
        const newest = { id, size: document.size };
        causes.set(key, { ...cause, count: 1, last: lastOf(document), newest });
      } else unlisted++;
    }
    messages += found.length;
    if (found.length < STEP) break;
    before = found.at(-1)!.id;
    await pause();
  }
  const list: CauseDocument[] = [];
  for (const counted of [...causes.values()].toSorted((a, b) => b.count - a.count)) {
    list.push(withFix(counted, quarantine, router));
    await pause();
  }
  return { instance, causes: list, messages, total: quarantine.total, unlisted };
}

function causeOf(router: Router, { source, topic, reason, detail }: QuarantineDocument): Cause {
  // The request of a message from HTTP. It uses no route, so no setting of a route changes it.
  if (source === 'http') {
    const [request] = topic.split('?', 1);
    return { reason, route: null, topic: request!, fix: fixOfHttp(reason), proposals: [] };
  }
  const { route } = router.resolve(topic);
  if (route === null) {
    return { reason, route: null, topic: suggestedTopic(topic, null) ?? topic, fix: null, proposals: [] };
  }
  const fix =
    reason === 'unknown_topic'
      ? 'a route takes these topics now: replay the messages'
      : fixOf({ reason, message: detail });
  return { reason, route: route.name, topic: route.template.template, fix, proposals: [] };
}

/** The cause with what was tried on its newest message. */
function withFix({ newest, ...cause }: Counted, quarantine: Quarantine, router: Router): CauseDocument {
  if (cause.fix !== null || newest.size > LARGEST_TRIED) return cause;
  const entry = quarantine.soundEntry(newest.id);
  if (entry === null || entry.source === 'http') return cause;
  const message: Message = { topic: entry.topic, payload: entry.payload, received: entry.received };
  const fix = triedFix({ reason: entry.reason, message: entry.detail }, message, router);
  const isUnknown = entry.reason === 'unknown_topic';
  return { ...cause, fix, proposals: isUnknown ? proposalsFor(message, router) : [] };
}

function fixOfHttp(reason: string): string | null {
  return fixOf({ reason, message: '' });
}

function lastOf({ id, topic, detail, received }: QuarantineDocument): CauseDocument['last'] {
  return { id, topic, detail, received };
}
