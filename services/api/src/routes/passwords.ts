import { randomBytes } from 'node:crypto';
import type { Handlers } from '../dispatch.ts';
import type { IngestClient } from '../ingest-client.ts';
import { queryOf } from '../parameters.ts';

/** 144 bits, as 24 characters: some sensors take at most 32. */
const PASSWORD_BYTES = 18;
/** Names in an answer. */
const MOST_LISTED = 1000;

interface LoginRequest {
  readonly user: string;
  readonly replace?: boolean;
}

/** The passwords with which sensors log in at ingest. An answer has a password only when it is made. */
export function passwordHandlers(ingest: IngestClient): Handlers {
  return {
    listPasswords: async (_call, response) => {
      const { answers, unreachable } = await ingest.passwords();
      const users = [...new Set(answers.flatMap(({ value }) => value.users))].slice(0, MOST_LISTED);
      const total = Math.max(users.length, ...answers.map(({ value }) => value.total));
      response.setHeader('Cache-Control', 'no-store');
      response.json({ users, total, unreachable });
    },
    setPassword: async ({ body }, response) => {
      const { user, replace = false } = body as LoginRequest;
      // All ingest processes need the same password, so it is made here.
      const password = randomBytes(PASSWORD_BYTES).toString('base64url');
      const { answers, unreachable } = await ingest.setPassword({ user, password, replace });
      response.setHeader('Cache-Control', 'no-store');
      response
        .status(201)
        .json({ user, password, instances: answers.map(({ value }) => value), unreachable });
    },
    removePassword: async (call, response) => {
      const { user } = queryOf<{ user: string }>(call);
      const { answers, unreachable } = await ingest.removePassword(user!);
      response.json({ instances: answers.map(({ value }) => value), unreachable });
    },
  };
}
