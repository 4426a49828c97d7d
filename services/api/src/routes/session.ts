import { type Access, principalOf, type Session } from '@tidegauge/service';
import type { Handlers } from '../dispatch.ts';

/** Sign-in of the live page: a key is exchanged for a cookie that no script can read. */
export function sessionHandlers(access: Access): Handlers {
  return {
    getSession: async ({ request }, response) => {
      response.setHeader('Cache-Control', 'no-store');
      response.json(documentOf(await access.describe(request)));
    },
    beginSession: async ({ request }, response) => {
      const principal = principalOf(response);
      response.setHeader('Cache-Control', 'no-store');
      if (principal.kind === 'open') {
        response.json(documentOf({ principal }));
        return;
      }
      const { cookie, session } = await access.signIn(principal, request);
      response.setHeader('Set-Cookie', cookie);
      response.json(documentOf(session));
    },
    endSession: async ({ request }, response) => {
      response.setHeader('Set-Cookie', await access.signOut(request));
      response.status(204).end();
    },
  };
}

function documentOf({ principal, csrf, expires }: Partial<Session>): object {
  return {
    sender: principal === undefined || principal.kind === 'open' ? null : principal.id,
    scopes: principal?.scopes ?? [],
    devices: principal?.devices ?? null,
    expires: expires === undefined ? null : new Date(expires).toISOString(),
    csrf: csrf ?? null,
  };
}
