import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { installOnlyInCi } from './install-policy.ts';

const LIST = new URL('../unavailable', import.meta.url);

/** The server, or the reason why its tests are skipped. */
export type StartedOrSkipped<T> = { readonly server: T } | { readonly skip: string };

/**
 * Starts a server for tests. When it is not available, its tests are skipped with the reason. That is an error when
 * STORES names the server, and under CI=true, unless `lab/unavailable` lists the server with a reason.
 */
export async function startOrSkip<T>(name: string, start: () => Promise<T>): Promise<StartedOrSkipped<T>> {
  installOnlyInCi();
  try {
    return { server: await start() };
  } catch (error) {
    const listed = listedReason(name, readFileSync(LIST, 'utf8'));
    if (process.env.STORES?.split(',').includes(name) || (process.env.CI === 'true' && listed === null))
      throw error;
    return { skip: `${name} is not available: ${listed ?? (error as Error).message}` };
  }
}

/**
 * `test` of node:test for a file whose tests all need one program: when it is not available, each is skipped with the
 * reason.
 *
 * @param find resolves when the program is there, such as `findProgram`
 * @throws {Error} when the program is required, see `startOrSkip`
 */
export async function testWith(name: string, find: () => Promise<unknown>): Promise<typeof test> {
  const found = await startOrSkip(name, find);
  if ('server' in found) return test;
  const skipped = (title: string) => test(title, { skip: found.skip });
  return skipped as typeof test;
}

/** The reason that the list (`name: reason` by line, # comments) gives for a server, or null. */
export function listedReason(name: string, list: string): string | null {
  for (const line of list.split('\n')) {
    const [, listed, reason] = /^([^#:\s]+):\s*(\S.*)$/.exec(line) ?? [];
    if (listed === name && reason !== undefined) return reason;
  }
  return null;
}
