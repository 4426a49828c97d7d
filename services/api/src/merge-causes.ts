import type { CauseDocument, CausesDocument } from '@tidegauge/readings';
import type { Answers } from './ingest-client.ts';

/** Causes of all instances at most. Each instance has the same limit. */
const MOST_CAUSES = 200;

/**
 * Merges the quarantines of all instances by cause. The most frequent causes are listed, and `unlisted` counts the
 * messages of the others.
 */
export function mergeCauses({ answers, unreachable }: Answers<CausesDocument>) {
  const merged = new Map<string, CauseDocument>();
  for (const cause of answers.flatMap(({ value }) => value.causes)) {
    const key = [cause.reason, cause.route, cause.topic, cause.fix].join('\n');
    const known = merged.get(key);
    merged.set(key, known === undefined ? cause : both(known, cause));
  }
  const sorted = [...merged.values()].toSorted((a, b) => b.count - a.count);
  const total = (pick: (causes: CausesDocument) => number) =>
    answers.reduce((sum, { value }) => sum + pick(value), 0);
  const left = sorted.slice(MOST_CAUSES).reduce((sum, { count }) => sum + count, 0);
  return {
    causes: sorted.slice(0, MOST_CAUSES),
    messages: total(({ messages }) => messages),
    total: total((each) => each.total),
    unlisted: left + total(({ unlisted }) => unlisted),
    unreachable,
  };
}

function both(a: CauseDocument, b: CauseDocument): CauseDocument {
  const last = a.last.received < b.last.received ? b.last : a.last;
  return { ...a, count: a.count + b.count, last };
}
