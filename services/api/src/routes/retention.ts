import type { RetentionDocument } from '@tidegauge/readings';
import { senderOf } from '@tidegauge/service';
import type { Handlers } from '../dispatch.ts';
import type { Answers, IngestClient } from '../ingest-client.ts';

/** The rules of retention, which ingest applies. */
export function retentionHandlers(ingest: IngestClient): Handlers {
  return {
    getRetention: async (_call, response) => {
      response.json(merged(await ingest.retention()));
    },
    setRetention: async ({ body }, response) => {
      response.json(merged(await ingest.setRetention(body as object)));
    },
    previewRetention: async ({ body }, response) => {
      const { instance: _, ...found } = await ingest.previewRetention(body as object, senderOf(response));
      response.json(found);
    },
  };
}

/** The answer of the first ingest process, with the last run of the one that does the work. */
function merged({ answers, unreachable }: Answers<RetentionDocument>) {
  const documents = answers.map(({ value }) => value);
  const { instance: _, ...first } = documents[0]!;
  const runs = documents.flatMap(({ last }) => (last === null || last.result === 'elsewhere' ? [] : [last]));
  const last = runs.sort((a, b) => (a.started < b.started ? 1 : -1))[0] ?? null;
  return { ...first, last, unreachable };
}
