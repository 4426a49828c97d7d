import {
  type AlertReceiversDocument,
  type AlertRulesDocument,
  type EntryChangedDocument,
  isTable,
  now,
} from '@tidegauge/readings';
import { ConfigError, Problem, type ServiceOperation } from '@tidegauge/service';
import type { NamedEntry } from '@tidegauge/yaml-file';
import type { Request } from 'express';
import { jsonOf, rawBody } from '../request-body.ts';
import { FileNotReplaced } from '../routes-writer.ts';
import type { Alerts } from './alerts.ts';
import type { Alert } from './book.ts';
import type { EntriesFile } from './entries-file.ts';
import type { Receiver } from './receivers-file.ts';
import type { AlertRule } from './rule.ts';
import { ruleEntry } from './rules-file.ts';

/** Largest body with an entry of a file, bytes. */
const BODY_LIMIT = 16 * 1024;

/** The files that people and requests change, and the receivers that are settings. */
export interface AlertFiles {
  readonly rules: EntriesFile<AlertRule>;
  readonly receivers: EntriesFile<Receiver>;
  readonly fixed: readonly Receiver[];
}

interface Options {
  readonly alerts: Alerts;
  readonly alertFiles: AlertFiles;
  readonly instance: string;
}

/** Requests that read and change the rules and the receivers of alerts. Their names and scopes are those of the API. */
export function alertOperations({ alerts, alertFiles, instance }: Options): readonly ServiceOperation[] {
  const { rules, receivers } = alertFiles;
  const rulesDocument = (): AlertRulesDocument => ({
    instance,
    trouble: rules.trouble,
    rules: rules.entries.map(ruleEntry),
  });
  return [
    {
      id: 'listAlertRules',
      method: 'get',
      path: '/alerts/rules',
      scope: 'read',
      handlers: [(_request, response) => void response.json(rulesDocument())],
    },
    ...changesOf('AlertRule', '/alerts/rules/:name', rules, 'The rule cannot be used', instance),
    {
      id: 'listAlertReceivers',
      method: 'get',
      path: '/alerts/receivers',
      scope: 'admin',
      handlers: [(_request, response) => void response.json(receiversDocument(alerts, alertFiles, instance))],
    },
    ...changesOf(
      'AlertReceiver',
      '/alerts/receivers/:name',
      receivers,
      'The receiver cannot be used',
      instance,
    ),
    {
      id: 'testAlertReceiver',
      method: 'post',
      path: '/alerts/receivers/:name/test',
      scope: 'admin',
      handlers: [
        async (request, response) => {
          await testReceiver(alerts, nameOf(request));
          response.status(204).end();
        },
      ],
    },
  ];
}

/** The operations that put and remove an entry of a file. */
function changesOf(
  noun: string,
  path: string,
  file: Pick<EntriesFile<NamedEntry>, 'put' | 'remove'>,
  notValid: string,
  instance: string,
): readonly ServiceOperation[] {
  return [
    {
      id: `put${noun}`,
      method: 'put',
      path,
      scope: 'admin',
      handlers: [
        rawBody(BODY_LIMIT),
        async (request, response) => {
          const body = jsonOf(request);
          if (!isTable(body)) throw new Problem(400, 'Invalid request', 'The body must be a JSON object.');
          const entry = { ...body, name: nameOf(request) };
          const replaced = await attempt(notValid, () => file.put(entry));
          response.json({ instance, replaced } satisfies EntryChangedDocument);
        },
      ],
    },
    {
      id: `delete${noun}`,
      method: 'delete',
      path,
      scope: 'admin',
      handlers: [
        async (request, response) => {
          const name = nameOf(request);
          if (!(await attempt(notValid, () => file.remove(name)))) notThere(name);
          response.json({ instance, replaced: true } satisfies EntryChangedDocument);
        },
      ],
    },
  ];
}

async function attempt<T>(notValid: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConfigError)
      throw new Problem(422, 'Not valid', `${notValid}: ${error.problems.join('; ')}.`);
    if (error instanceof FileNotReplaced) throw new Problem(409, 'File not writable', `${error.message}.`);
    throw error;
  }
}

function receiversDocument(
  alerts: Alerts,
  { receivers, fixed }: AlertFiles,
  instance: string,
): AlertReceiversDocument {
  const channels = new Map(alerts.channels.map((channel) => [channel.name, channel]));
  const all = [...fixed, ...receivers.entries];
  return {
    instance,
    trouble: receivers.trouble,
    receivers: all.map((receiver) => {
      const { name, kind, target } = receiver;
      const channel = channels.get(name);
      const counts = channel?.counts ?? { sent: 0, failed: 0, dropped: 0 };
      const isEntry = !fixed.includes(receiver);
      return { name, kind, target, isEntry, ...counts, waiting: channel?.waiting ?? 0 };
    }),
  };
}

/** @throws {Problem} 404, or 502 when the receiver does not accept the message */
async function testReceiver(alerts: Alerts, name: string): Promise<void> {
  const channel = alerts.channels.find((each) => each.name === name) ?? notThere(name);
  try {
    await channel.test({ event: 'test', alert: testAlert() });
  } catch (error) {
    throw new Problem(502, 'Not accepted', `The message did not arrive: ${(error as Error).message}.`);
  }
}

/** An alert of no rule. Its identifier differs each time, because receivers ignore repeated messages. */
function testAlert(): Alert {
  const time = now();
  return {
    id: time.toString(16).padStart(24, '0'),
    rule: 'test',
    severity: 'info',
    kind: 'above',
    device: 'test',
    metric: 'test',
    limit: 0,
    value: 1,
    since: time,
    raised: time,
    ended: null,
    reason: null,
    due: [],
  };
}

function nameOf({ params }: Request): string {
  return String(params.name);
}

function notThere(name: string): never {
  throw new Problem(404, 'Not found', `There is no ${name}.`);
}
