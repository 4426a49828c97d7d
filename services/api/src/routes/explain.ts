import { senderOf } from '@tidegauge/service';
import type { Handlers } from '../dispatch.ts';
import type { IngestClient } from '../ingest-client.ts';
import { mergeCauses } from '../merge-causes.ts';

/** What the routes make of a message, the quarantine by cause, and further routes. Ingest does all of it. */
export function explainHandlers(ingest: IngestClient): Handlers {
  return {
    explain: async ({ body }, response) => {
      response.json(await ingest.explain(body as object, senderOf(response)));
    },
    listQuarantineCauses: async (_call, response) => {
      response.json(mergeCauses(await ingest.causes()));
    },
    addRoute: async ({ body }, response) => {
      const { route } = body as { readonly route: object };
      const { answers, unreachable } = await ingest.addRoute(route);
      response.json({ instances: answers.map(({ value }) => value), unreachable });
    },
  };
}
