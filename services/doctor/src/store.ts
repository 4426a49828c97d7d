import { createStore } from '@tidegauge/storage';
import { error, type Finding, ok } from './finding.ts';
import { duration } from './units.ts';

/** A store that answered: seconds that the quickest of a few questions took. */
export interface StorePing {
  readonly name: string;
  readonly seconds: number;
}

const QUESTIONS = 5;
/** These are files: to open one makes it, and their commit is the disk's. */
const FILES = ['sqlite', 'json', 'null'];

/**
 * Asks a store whether it would take a write, a few times. It creates nothing; a store that is a file is not opened.
 * Rejects with the store's own error.
 */
export async function pingStore(url: string): Promise<StorePing | null> {
  const store = await createStore(url);
  if (FILES.includes(store.name)) return null;
  let best = Number.POSITIVE_INFINITY;
  try {
    await store.open();
    for (let question = 0; question < QUESTIONS; question++) {
      const from = performance.now();
      await store.health();
      best = Math.min(best, (performance.now() - from) / 1000);
    }
  } finally {
    await store.close();
  }
  return { name: store.name, seconds: best };
}

export function checkStore(ping: StorePing | { readonly why: string } | null): Finding[] {
  const check = 'store.health';
  if (ping === null) return [];
  if ('why' in ping)
    return [
      error(
        check,
        `the store does not take writes: ${ping.why}`,
        'check its URL (STORE), user and that it runs',
      ),
    ];
  return [ok(check, `${ping.name} would take a write, and answers within ${duration(ping.seconds)}`)];
}
