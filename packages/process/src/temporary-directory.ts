import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit } from './at-exit.ts';

/** A temporary directory. It is removed by `remove`, or when this process ends, except by SIGKILL. */
export function temporaryDirectory(name: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `tidegauge-${name}-`));
  // A server that has just been killed can still be writing.
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  return { path, remove: atExit(remove, { last: true }) };
}
