// Signs the visitor in with an API key. The browser keeps the cookie of the session, which no script can read, and the
// page keeps no key.

import { endSession, onSignIn, session } from './api.js';
import { askKey } from './dialog.js';
import { $, setText } from './dom.js';

/** The dialog that is open; requests that fail at the same time share it. */
let asking = null;

/** Shows who is signed in. Resolves to true when the visitor may read, if necessary after the sign-in. */
export async function initSession() {
  onSignIn(signIn);
  $('sign-out').addEventListener('click', () => void signOut());
  const found = await session();
  show(found);
  return (
    found.scopes.some((scope) => scope !== 'write') || signIn('The readings of this server need a login.')
  );
}

/** Whether the visitor has a session. Without one, no login may be needed. */
export function isSignedIn() {
  return !$('sign-out').hidden;
}

/** Begins a session with a key. @throws {RequestError} */
export async function signInWith(key) {
  show(await session(key));
}

function signIn(why) {
  asking ??= ask(why).finally(() => {
    asking = null;
  });
  return asking;
}

async function ask(why) {
  for (let reason = why; ; ) {
    const key = await askKey(reason);
    if (key === null) return false;
    try {
      await signInWith(key);
      return true;
    } catch (error) {
      reason = error.message;
    }
  }
}

function show({ sender, csrf, scopes, devices }) {
  // The style sheet hides what the visitor may not do, and the server refuses it.
  if (scopes.includes('admin') && devices === null) document.body.dataset.admin = '';
  else delete document.body.dataset.admin;
  const isAdmin = document.body.dataset.admin !== undefined;
  document.body.toggleAttribute('data-no-admin', csrf !== null && !isAdmin);
  document.body.toggleAttribute('data-read-only', csrf !== null && scopes.every((scope) => scope === 'read'));
  $('sign-out').hidden = csrf === null;
  setText($('sign-out'), 'Sign out');
  $('sign-out').title = sender === null ? '' : `Signed in with the key ${sender}`;
}

async function signOut() {
  await endSession().catch(() => {});
  location.reload();
}
