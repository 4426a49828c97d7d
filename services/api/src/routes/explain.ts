import { senderOf, Turns } from '@tidegauge/service';
import type { Handlers } from '../dispatch.ts';
import type { IngestClient } from '../ingest-client.ts';
import { mergeCauses } from '../merge-causes.ts';

/** Explanations that ingest computes at once for this process. One client has one at a time. */
const EXPLANATIONS = 2;

/** What the routes make of a message, the quarantine by cause, and further routes. Ingest does all of it. */
export function explainHandlers(ingest: IngestClient): Handlers {
  const turns = new Turns(EXPLANATIONS);
  return {
    explain: async ({ body }, response) => {
      const found = await turns.run(response, () => ingest.explain(body as object, senderOf(response)));
      if (found !== null) response.json(found);
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
