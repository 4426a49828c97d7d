import type { AlertsDocument } from '@tidegauge/readings';
import { demandWithin, limitOf } from '@tidegauge/service';
import type { Cursors } from '../cursor.ts';
import type { Handler, Handlers } from '../dispatch.ts';
import type { Answers, IngestClient } from '../ingest-client.ts';
import { defined, device, queryOf } from '../parameters.ts';

interface ListParameters {
  readonly device: string;
  readonly state: string;
  readonly rule: string;
  readonly severity: string;
  readonly limit: number;
  readonly cursor: string;
}

export function alertHandlers(ingest: IngestClient, cursors: Cursors): Handlers {
  const change =
    (list: 'rules' | 'receivers'): Handler =>
    async ({ params, body }, response) => {
      const entry = (body as object | undefined) ?? null;
      const { answers, unreachable } = await ingest.changeEntry(list, params.name!, entry);
      response.json({ instances: answers.map(({ value }) => value), unreachable });
    };
  return {
    listAlerts: async (call, response) => {
      const { limit = 100, cursor, state, rule, severity, ...query } = queryOf<ListParameters>(call);
      const limited = limitOf(call);
      const prefix = query.device === undefined ? limited : demandWithin(call, device(query.device));
      const filter = defined({ device: prefix ?? undefined, state, rule, severity });
      const key = ['alerts', prefix, state, rule, severity];
      const after = cursor === undefined ? undefined : cursors.read(key, cursor, isPosition)[0];
      const { instance: _, ...page } = chosen(await ingest.alerts(defined({ ...filter, limit, after })));
      const next = page.next === null ? null : cursors.write(key, [page.next]);
      response.json({ ...page, next });
    },

    listAlertRules: async (_call, response) => {
      const { instance: _, ...found } = first(await ingest.alertRules());
      response.json(found);
    },
    putAlertRule: change('rules'),
    deleteAlertRule: change('rules'),

    listAlertReceivers: async (_call, response) => {
      const { instance: _, ...found } = first(await ingest.alertReceivers());
      response.json(found);
    },
    putAlertReceiver: change('receivers'),
    deleteAlertReceiver: change('receivers'),
    testAlertReceiver: async ({ params }, response) => {
      await ingest.testReceiver(params.name!);
      response.status(204).end();
    },
  };
}

/** The answer of the ingest process that evaluates the rules. Without one, the answer of one that has rules. */
function chosen({ answers, unreachable }: Answers<AlertsDocument>) {
  const documents = answers.map(({ value }) => value);
  const best =
    documents.find(({ evaluating }) => evaluating) ??
    documents.find(({ configured }) => configured) ??
    documents[0]!;
  return { ...best, unreachable };
}

/** The answer of the first ingest process that answers. */
function first<T extends object>({ answers, unreachable }: Answers<T>) {
  return { ...answers[0]!.value, unreachable };
}

type Position = readonly [after: string];

function isPosition(value: unknown): value is Position {
  return Array.isArray(value) && value.length === 1 && typeof value[0] === 'string';
}
