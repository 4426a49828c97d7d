import {
  formatTime,
  isTable,
  now,
  type RetentionDocument,
  type RetentionPreviewDocument,
} from '@tidegauge/readings';
import { ConfigError, Problem, type ServiceOperation, Turns } from '@tidegauge/service';
import { type Store, StoreError } from '@tidegauge/storage';
import type { Request } from 'express';
import { jsonOf, rawBody } from '../request-body.ts';
import { FileNotReplaced } from '../routes-writer.ts';
import type { Limits } from './limits.ts';
import { preview } from './preview.ts';
import type { Retention } from './retention.ts';
import { keepText, retentionEntry } from './rules.ts';
import type { RulesFile } from './rules-file.ts';

/** Largest body with all rules, bytes. */
const BODY_LIMIT = 256 * 1024;
/** Time for counting what would be deleted, milliseconds. The API waits longer. */
const PREVIEW_MS = 5000;

/** What requests about retention use. */
export interface RetentionParts {
  readonly retention: Pick<Retention, 'last'>;
  readonly rules: RulesFile;
  readonly store: Store;
  readonly limits: Limits;
  readonly everyMs: number;
}

/** Requests that read and change the rules of retention, and count what rules would delete. */
export function retentionOperations(parts: RetentionParts, instance: string): readonly ServiceOperation[] {
  const { rules, store } = parts;
  // It reads as much as there is to delete.
  const turns = new Turns(1);
  return [
    {
      id: 'getRetention',
      method: 'get',
      path: '/retention',
      scope: 'read',
      handlers: [(_request, response) => void response.json(documentOf(parts, instance))],
    },
    {
      id: 'setRetention',
      method: 'put',
      path: '/retention',
      scope: 'admin',
      handlers: [
        rawBody(BODY_LIMIT),
        async (request, response) => {
          const { entries, before } = bodyOf(request);
          // Ingest processes can share the file.
          rules.refresh();
          const used = JSON.stringify(entriesOf(rules));
          if (before !== undefined && ![JSON.stringify(before), JSON.stringify(entries)].includes(used))
            throw new Problem(
              409,
              'Rules changed',
              'The rules were changed in the meantime: read them again.',
            );
          await rules.replace(entries).catch(refuse);
          response.json(documentOf(parts, instance));
        },
      ],
    },
    {
      id: 'previewRetention',
      method: 'post',
      path: '/retention/preview',
      scope: 'admin',
      handlers: [
        rawBody(BODY_LIMIT),
        async (request, response) => {
          const { entries } = bodyOf(request);
          const found = await turns.run(response, async () => {
            const end = performance.now() + PREVIEW_MS;
            const mayContinue = () => performance.now() < end && !response.destroyed;
            try {
              return await preview(store, rules.compile(entries), now(), mayContinue);
            } catch (error) {
              return refuse(error);
            }
          });
          if (found !== null) response.json({ instance, ...found } satisfies RetentionPreviewDocument);
        },
      ],
    },
  ];
}

function documentOf(
  { retention, rules, limits, everyMs }: RetentionParts,
  instance: string,
): RetentionDocument {
  const { last } = retention;
  return {
    instance,
    rules: entriesOf(rules),
    others: keepText(rules.rules.rules.at(-1)!),
    trouble: rules.trouble,
    maxBytes: limits.maxBytes,
    minFreeBytes: limits.minFreeBytes,
    everySeconds: everyMs / 1000,
    last: last === null ? null : { ...last, started: formatTime(last.started) },
  };
}

/** The rules of the file. The last rule is the one for all other series. */
function entriesOf(rules: RulesFile) {
  return rules.rules.rules.slice(0, -1).map(retentionEntry);
}

/** @throws {Problem} 400, 413 */
function bodyOf(request: Request): { readonly entries: readonly unknown[]; readonly before: unknown } {
  const body = jsonOf(request);
  if (!isTable(body) || !Array.isArray(body.rules))
    throw new Problem(400, 'Invalid request', 'The body must be a JSON object with a list of rules.');
  return { entries: body.rules as readonly unknown[], before: body.before };
}

function refuse(error: unknown): never {
  if (error instanceof ConfigError)
    throw new Problem(422, 'Not valid', `The rules cannot be used: ${error.problems.join('; ')}.`);
  if (error instanceof FileNotReplaced) throw new Problem(409, 'File not writable', `${error.message}.`);
  if (error instanceof StoreError)
    throw new Problem(503, 'Store unavailable', 'The store did not answer.', { retryAfter: 5 });
  throw error;
}
