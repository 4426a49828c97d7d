import { formatTime, type QuarantineDocument } from '@tidegauge/readings';
import type { Cursors } from '../cursor.ts';
import type { Handler, Handlers } from '../dispatch.ts';
import type { IngestClient } from '../ingest-client.ts';
import { queryOf, time } from '../parameters.ts';
import { type Position, stepThrough } from '../quarantine-steps.ts';

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
      const items: QuarantineDocument[] = [];
      let next: string | null = null;
      for (const { url, value } of answers) {
        if (position !== null && url < position[0]) continue;
        const after = position?.[0] === url ? position[1] : null;
        if (items.length === limit) {
          next ??= value.items.length > 0 ? cursors.write(key, [url, after]) : null;
          continue;
        }
        const wanted = { limit: limit - items.length, reason, instance };
        const begun = after !== null || items.length > 0;
        const page = begun ? await ingest.quarantine(url, { ...wanted, after: after ?? undefined }) : value;
        items.push(...page.items);
        if (page.next !== null) {
          next = cursors.write(key, [url, page.next]);
          break;
        }
      }
      const total = answers.reduce((sum, { value }) => sum + value.total, 0);
      const reasons: Record<string, number> = {};
      for (const { value } of answers) {
        for (const [name, count] of Object.entries(value.reasons))
          reasons[name] = (reasons[name] ?? 0) + count;
      }
      response.json({ items, next, total, reasons, unreachable });
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

function isPosition(value: unknown): value is Position {
  if (!Array.isArray(value)) return false;
  const [url, after] = value as readonly unknown[];
  return typeof url === 'string' && (after === null || typeof after === 'string');
}
