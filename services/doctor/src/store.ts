import { createStore } from '@tidegauge/storage';
import { error, type Finding, ok } from './finding.ts';
import { duration } from './units.ts';

/** The shortest response time of a store that answered, seconds. */
export interface StorePing {
  readonly name: string;
  readonly seconds: number;
}

const QUESTIONS = 5;
/** Stores in files: opening one would create it, and their commit time is that of the disk. */
const FILES = ['sqlite', 'json', 'null'];

/**
 * Checks a few times whether a store would accept a write. It creates nothing, and does not open a store that is a
 * file.
 *
 * @throws the store's own error
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
        `the store does not accept writes: ${ping.why}`,
        'check its URL (STORE) and user, and that it runs',
      ),
    ];
  return [ok(check, `${ping.name} accepts writes, and answers within ${duration(ping.seconds)}`)];
}
