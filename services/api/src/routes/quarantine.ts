import { formatTime, type QuarantineDocument } from '@tidegauge/readings';
import type { Cursors } from '../cursor.ts';
import type { Handler, Handlers } from '../dispatch.ts';
import type { IngestClient, QuarantinePage } from '../ingest-client.ts';
import { queryOf, time } from '../parameters.ts';
import { afterIn, type Position, stepThrough } from '../quarantine-steps.ts';

interface ListParameters {
  readonly limit: number;
  readonly reason: string;
  readonly instance: string;
  readonly cursor: string;
}

interface StepParameters extends ListParameters {
  readonly until: string;
}

export function quarantineHandlers(ingest: IngestClient, cursors: Cursors): Handlers {
  const step =
    (verb: 'replay' | 'discard'): Handler =>
    async (call, response) => {
      const { limit = 1000, reason, instance, until: latest, cursor } = queryOf<StepParameters>(call);
      const upTo = time(latest, '/query/until');
      const until = upTo === undefined ? undefined : formatTime(upTo);
      const key = ['quarantine', verb, reason, instance, until];
      const position = cursor === undefined ? null : cursors.read(key, cursor, isPosition);
      const { sum, next, unreachable } = await stepThrough(
        ingest,
        verb,
        { limit, reason, instance, until },
        position,
      );
      const { tried, removed, stored, duplicate } = sum;
      const counts =
        verb === 'discard'
          ? { discarded: removed }
          : { tried, replayed: removed, kept: tried - removed, stored, duplicate };
      response.json({ ...counts, next: next === null ? null : cursors.write(key, next), unreachable });
    };
  return {
    listQuarantine: async (call, response) => {
      const { limit = 100, reason, instance, cursor } = queryOf<ListParameters>(call);
      const key = ['quarantine', reason, instance];
      const position = cursor === undefined ? null : cursors.read(key, cursor, isPosition);
      // The first page of every instance. They have the counts, and the items of instances that are not begun yet.
      const { answers, unreachable } = await ingest.quarantines({ limit, reason, instance });
      const read = (url: string, most: number, after: string | null) =>
        ingest.quarantine(url, { limit: most, reason, instance, after: after ?? undefined });
      const { items, next } = await collect(answers, limit, position, read);
      const total = answers.reduce((sum, { value }) => sum + value.total, 0);
      const reasons: Record<string, number> = {};
      for (const { value } of answers) {
        for (const [name, count] of Object.entries(value.reasons))
          reasons[name] = (reasons[name] ?? 0) + count;
      }
      response.json({
        items,
        next: next === null ? null : cursors.write(key, next),
        total,
        reasons,
        unreachable,
      });
    },
    replayQuarantine: step('replay'),
    discardQuarantine: step('discard'),
    getQuarantineItem: async ({ params }, response) => {
      response.json(await ingest.quarantined(params.id!));
    },
    discardQuarantineItem: async ({ params }, response) => {
      await ingest.discard(params.id!);
      response.status(204).end();
    },
    replayQuarantineItem: async ({ params }, response) => {
      response.json(await ingest.replay(params.id!));
    },
  };
}

/**
 * Items of instances in the order of their addresses, from a position on.
 *
 * @param answers the first page of each instance
 * @param read reads a later page
 */
async function collect(
  answers: readonly { readonly url: string; readonly value: QuarantinePage }[],
  limit: number,
  position: Position | null,
  read: (url: string, most: number, after: string | null) => Promise<QuarantinePage>,
): Promise<{ readonly items: readonly QuarantineDocument[]; readonly next: Position | null }> {
  const items: QuarantineDocument[] = [];
  for (const { url, value } of answers) {
    if (position !== null && url < position[0]) continue;
    const after = afterIn(position, url);
    if (items.length === limit) {
      if (value.items.length > 0) return { items, next: [url, after] };
      continue;
    }
    const isBegun = after !== null || items.length > 0;
    const page = isBegun ? await read(url, limit - items.length, after) : value;
    items.push(...page.items);
    if (page.next !== null) return { items, next: [url, page.next] };
  }
  return { items, next: null };
}

function isPosition(value: unknown): value is Position {
  if (!Array.isArray(value)) return false;
  const [url, after] = value as readonly unknown[];
  return typeof url === 'string' && (after === null || typeof after === 'string');
}
