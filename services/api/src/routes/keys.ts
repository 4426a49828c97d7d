import {
  type Access,
  type ApiKey,
  addKey,
  ConfigError,
  Problem,
  readKeys,
  revokeKey,
  type Scope,
  stateOf,
} from '@tidegauge/service';
import type { Handlers } from '../dispatch.ts';
import { device } from '../parameters.ts';

const DAY_MS = 86_400_000;

interface KeyRequest {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly devices?: string;
  readonly expiresInDays?: number;
}

/**
 * The keys of the file API_KEYS. An answer has the text of a key only when the key is made.
 *
 * @param file null: no file of keys is used
 */
export function keyHandlers(
  file: string | null,
  access: Pick<Access, 'isRequired' | 'refreshKeys'>,
): Handlers {
  return {
    listKeys: (_call, response) => {
      const path = demandFile(file);
      const keys = attempt(() => readKeys(path)?.keys ?? []);
      const now = Date.now();
      response.setHeader('Cache-Control', 'no-store');
      response.json({ keys: keys.toReversed().map((key) => keyDocument(key, now)) });
    },
    createKey: ({ body }, response) => {
      const path = demandFile(file);
      const { name, scopes, devices: limit, expiresInDays } = body as KeyRequest;
      const devices = limit === undefined ? null : device(limit, '/body/devices');
      // A file of keys closes changes to everybody else.
      if (!access.isRequired && !scopes.includes('admin'))
        throw new Problem(
          409,
          'No administrator',
          'Changes need a login from the first key on: make a key with the scope admin first.',
        );
      const now = Date.now();
      const expires =
        expiresInDays === undefined ? null : new Date(now + expiresInDays * DAY_MS).toISOString();
      const { text, key } = attempt(() => addKey(path, { name, scopes, devices, expires }, now));
      access.refreshKeys();
      response.setHeader('Cache-Control', 'no-store');
      response.status(201).json({ text, key: keyDocument(key, now) });
    },
    revokeKey: ({ params }, response) => {
      const path = demandFile(file);
      const { id } = params;
      attempt(() =>
        revokeKey(path, (keys) => keys.find((key) => key.id === id) ?? notThere(id!), Date.now()),
      );
      access.refreshKeys();
      response.status(204).end();
    },
  };
}

/** A key without its digest. */
function keyDocument(key: ApiKey, now: number): object {
  const { sha256: _, ...shown } = key;
  return { ...shown, state: stateOf(key, now) };
}

/** @throws {Problem} 409 */
function demandFile(file: string | null): string {
  if (file !== null) return file;
  throw new Problem(409, 'No file of keys', 'API_KEYS names no file: set it, and start the API again.');
}

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new Problem(409, 'Keys not changed', `${error.problems.join('; ')}.`);
  }
}

function notThere(id: string): never {
  throw new Problem(404, 'Not found', `There is no key ${id}.`);
}
