import { type EntryChangedDocument, isTable, type PasswordsDocument } from '@tidegauge/readings';
import { ConfigError, Problem, type ServiceOperation } from '@tidegauge/service';
import type { Request } from 'express';
import { jsonOf, rawBody } from '../request-body.ts';
import { passwordProblem, removePassword, setPassword, userProblem, usersOf } from './password-file.ts';

/** Largest body with a user and a password, bytes. */
const BODY_LIMIT = 16 * 1024;
/** Names of users in an answer. */
const MOST_LISTED = 1000;

interface Options {
  /** LISTEN_PASSWORDS. Null: there is none. */
  readonly passwords: string | null;
  readonly instance: string;
}

/**
 * Requests that list, add and remove the logins of sensors in the file of passwords. No answer has a password or a hash.
 */
export function passwordOperations({ passwords, instance }: Options): readonly ServiceOperation[] {
  const path = '/passwords';
  const scope = 'admin';
  return [
    {
      id: 'listPasswords',
      method: 'get',
      path,
      scope,
      handlers: [
        (_request, response) => {
          const users = attempt(() => usersOf(demandFile(passwords)));
          const listed = users.slice(0, MOST_LISTED);
          response.json({ instance, users: listed, total: users.length } satisfies PasswordsDocument);
        },
      ],
    },
    {
      id: 'setPassword',
      method: 'post',
      path,
      scope,
      handlers: [
        rawBody(BODY_LIMIT),
        async (request, response) => {
          const file = demandFile(passwords);
          const { user, password, replace } = entryOf(request);
          // Before the password is hashed, which takes a tenth of a second.
          if (!replace && attempt(() => usersOf(file)).includes(user))
            throw new Problem(409, 'Login exists', `There is a login ${user}: its password stays.`);
          const isNew = await setPassword(file, user, password, replace).catch(refuse);
          response.json({ instance, replaced: !isNew } satisfies EntryChangedDocument);
        },
      ],
    },
    {
      id: 'removePassword',
      method: 'delete',
      path,
      scope,
      handlers: [
        (request, response) => {
          const file = demandFile(passwords);
          const { user } = request.query;
          if (typeof user !== 'string' || !attempt(() => usersOf(file)).includes(user))
            throw new Problem(404, 'Not found', 'There is no such login.');
          attempt(() => removePassword(file, user));
          response.json({ instance, replaced: true } satisfies EntryChangedDocument);
        },
      ],
    },
  ];
}

/** @throws {Problem} 400, 413, 422 */
function entryOf(request: Request) {
  const body = jsonOf(request);
  const { user, password, replace } = (isTable(body) ? body : {}) as Readonly<Record<string, unknown>>;
  if (typeof user !== 'string' || typeof password !== 'string')
    throw new Problem(400, 'Invalid request', 'The body must be a JSON object with user and password.');
  const problem = userProblem(user) ?? passwordProblem(password);
  if (problem !== null) throw new Problem(422, 'Not valid', `It cannot be used: ${problem}.`);
  return { user, password, replace: replace === true };
}

/** @throws {Problem} 409 */
function demandFile(file: string | null): string {
  if (file !== null) return file;
  const how = 'set LISTEN_PASSWORDS, or use the program of your broker';
  throw new Problem(409, 'No file of passwords', `Ingest has no file of passwords of sensors: ${how}.`);
}

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    return refuse(error);
  }
}

function refuse(error: unknown): never {
  if (!(error instanceof ConfigError)) throw error;
  throw new Problem(409, 'File not changed', `${error.problems.join('; ')}.`);
}
