import { forEach } from '@tidegauge/parallel';
import type { QuarantineClient } from './client.ts';
import { type ItemFilter, isByTopic, isSelected } from './select.ts';

/** Messages that are changed at the same time. */
const AT_ONCE = 4;

export interface Outcome {
  tried: number;
  /** Messages that were removed from quarantine. */
  removed: number;
  /** Readings that were stored, and readings that were stored before. */
  stored: number;
  duplicate: number;
  /** Why it ended early; null when it is complete. */
  problem: string | null;
}

/**
 * Replays or discards one message, or all that match a filter, the oldest first. Messages that arrive meanwhile are
 * left out. What was done before a failure stays done.
 *
 * @param which the id of a message, or a filter
 */
export async function change(
  client: QuarantineClient,
  action: 'replay' | 'discard',
  which: string | ItemFilter,
  signal: AbortSignal,
): Promise<Outcome> {
  const sum: Outcome = { tried: 0, removed: 0, stored: 0, duplicate: 0, problem: null };
  try {
    if (typeof which === 'string') await changeItem(client, action, which, sum);
    else if (isByTopic(which)) await changeItems(client, action, which, sum, signal);
    else await changeInSteps(client, action, which.reason, sum, signal);
  } catch (error) {
    sum.problem = (error as Error).message;
  }
  return sum;
}

async function changeItem(
  client: QuarantineClient,
  action: 'replay' | 'discard',
  id: string,
  sum: Outcome,
): Promise<void> {
  if (action === 'discard') {
    await client.discard(id);
    sum.tried++;
    sum.removed++;
    return;
  }
  const { stored, duplicate, quarantined } = await client.replay(id);
  sum.tried++;
  if (quarantined === 0) sum.removed++;
  sum.stored += stored;
  sum.duplicate += duplicate;
}

/** Ingest selects by reason only. The other items are found by reading the list, whose size ingest bounds. */
async function changeItems(
  client: QuarantineClient,
  action: 'replay' | 'discard',
  filter: ItemFilter,
  sum: Outcome,
  signal: AbortSignal,
): Promise<void> {
  const ids: string[] = [];
  for await (const item of client.items(filter.reason)) if (isSelected(filter, item)) ids.push(item.id);
  await forEach(ids.reverse(), AT_ONCE, async (id) => {
    signal.throwIfAborted();
    await changeItem(client, action, id, sum);
  });
}

async function changeInSteps(
  client: QuarantineClient,
  action: 'replay' | 'discard',
  reason: string | null,
  sum: Outcome,
  signal: AbortSignal,
): Promise<void> {
  for (let cursor: string | null = null; ; ) {
    signal.throwIfAborted();
    const { tried, removed, stored, duplicate, next } = await client.step(action, reason, cursor);
    sum.tried += tried;
    sum.removed += removed;
    sum.stored += stored;
    sum.duplicate += duplicate;
    if (next === null) return;
    cursor = next;
  }
}
