import { readFileSync } from 'node:fs';

const LIST = new URL('../unavailable', import.meta.url);

/** What `startOrSkip` came to: the server, or why its tests are skipped. */
export type StartedOrSkipped<T> = { readonly server: T } | { readonly skip: string };

/**
 * Starts a server for tests. Where it cannot be had, tests are skipped by name; but that is an error when STORES
 * asks for it, and under CI=true, unless `lab/unavailable` lists the server with a reason.
 */
export async function startOrSkip<T>(name: string, start: () => Promise<T>): Promise<StartedOrSkipped<T>> {
  try {
    return { server: await start() };
  } catch (error) {
    const listed = listedReason(name, readFileSync(LIST, 'utf8'));
    if (process.env.STORES?.split(',').includes(name) || (process.env.CI === 'true' && listed === null))
      throw error;
    return { skip: `${name} cannot be had here: ${listed ?? (error as Error).message}` };
  }
}

/** The reason that the list (`name: reason` by line, # comments) gives for a server, or null. */
export function listedReason(name: string, list: string): string | null {
  for (const line of list.split('\n')) {
    const [, listed, reason] = /^([^#:\s]+):\s*(\S.*)$/.exec(line) ?? [];
    if (listed === name && reason !== undefined) return reason;
  }
  return null;
}
