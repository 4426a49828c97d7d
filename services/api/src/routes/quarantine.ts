import type { QuarantineDocument } from '@tidegauge/readings';
import { Router } from 'express';
import { readCursor, writeCursor } from '../cursor.ts';
import type { IngestClient } from '../ingest-client.ts';
import { queryOf } from '../parameters.ts';

interface ListParameters {
  readonly limit: number;
  readonly reason: string;
  readonly cursor: string;
}

/** Where a list goes on: instances are walked one after the other, in the order of their addresses. */
type Position = readonly [url: string, after: string | null];

export function quarantineRoutes(ingest: IngestClient): Router {
  const router = Router();

  router.get('/v1/quarantine', async (request, response) => {
    const { limit = 100, reason, cursor } = queryOf<ListParameters>(request);
    const key = ['quarantine', reason];
    const position = cursor === undefined ? null : (readCursor(key, cursor) as Position);
    // First pages of all: they say how many there are, and hold what an instance not begun yet starts with.
    const { answers, unreachable } = await ingest.quarantines({ limit, reason });
    const items: QuarantineDocument[] = [];
    let next: string | null = null;
    for (const { url, value } of answers) {
      if (position !== null && url < position[0]) continue;
      const after = position?.[0] === url ? position[1] : null;
      if (items.length === limit) {
        next ??= value.items.length > 0 ? writeCursor(key, [url, after]) : null;
        continue;
      }
      const wanted = { limit: limit - items.length, reason };
      const begun = after !== null || items.length > 0;
      const page = begun ? await ingest.quarantine(url, { ...wanted, after: after ?? undefined }) : value;
      items.push(...page.items);
      if (page.next !== null) {
        next = writeCursor(key, [url, page.next]);
        break;
      }
    }
    const total = answers.reduce((sum, { value }) => sum + value.total, 0);
    response.json({ items, next, total, unreachable });
  });

  router
    .route('/v1/quarantine/:id')
    .get(async (request, response) => {
      response.json(await ingest.quarantined(request.params.id));
    })
    .delete(async (request, response) => {
      await ingest.discard(request.params.id);
      response.status(204).end();
    });

  router.post('/v1/quarantine/:id/replay', async (request, response) => {
    response.json(await ingest.replay(request.params.id));
  });

  return router;
}
