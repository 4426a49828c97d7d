import { type IngestClient, IngestError, type QuarantineStep, type Unreachable } from './ingest-client.ts';

/** Where the next request continues. Instances are processed one after the other, in the order of their addresses. */
export type Position = readonly [url: string, after: string | null];

/** After this time no further instance is called, so that a request ends soon. */
const ENOUGH_MS = 5000;

/** The results of one request, summed over the instances that it called. */
export interface Stepped {
  readonly sum: { tried: number; removed: number; stored: number; duplicate: number };
  /** Where the next request continues; null when all instances are done. */
  readonly next: Position | null;
  readonly unreachable: readonly Unreachable[];
}

/**
 * Replays or discards up to `limit` messages. An instance that cannot be reached is reported and skipped. When an
 * instance fails later, the request ends. It reports what was done before, and the next request begins with that one.
 *
 * @throws {IngestError} when nothing was done
 */
export async function stepThrough(
  ingest: IngestClient,
  verb: 'replay' | 'discard',
  query: QuarantineStep,
  from: Position | null,
): Promise<Stepped> {
  const sum = { tried: 0, removed: 0, stored: 0, duplicate: 0 };
  const unreachable: Unreachable[] = [];
  const started = performance.now();
  const targets = (await ingest.targets()).filter((url) => from === null || url >= from[0]);
  let refusal: IngestError | null = null;
  let answers = 0;
  for (const url of targets) {
    const after = afterIn(from, url);
    const limit = query.limit - sum.tried;
    if (limit === 0 || performance.now() - started > ENOUGH_MS)
      return { sum, next: [url, after], unreachable };
    const options = { ...query, limit, cursor: after ?? undefined };
    const step = await ingest.step(url, verb, options).catch(ingestError);
    if (step instanceof IngestError) {
      if (!isSkipped(step, sum.tried)) return { sum, next: [url, after], unreachable };
      refusal = step;
      unreachable.push({ instance: url, reason: step.message });
      continue;
    }
    answers++;
    sum.tried += step.tried;
    sum.removed += step.removed;
    sum.stored += step.stored;
    sum.duplicate += step.duplicate;
    if (step.next !== null) return { sum, next: [url, step.next], unreachable };
  }
  if (answers === 0 && refusal !== null) throw refusal;
  return { sum, next: null, unreachable };
}

/** Where an instance continues from a position; null at its beginning. */
export function afterIn(position: Position | null, url: string): string | null {
  return position?.[0] === url ? position[1] : null;
}

function ingestError(error: unknown): IngestError {
  if (error instanceof IngestError) return error;
  throw error;
}

/**
 * Whether the next instance follows after an error, or the request ends.
 *
 * @throws {IngestError} when nothing was done
 */
function isSkipped(error: IngestError, tried: number): boolean {
  if (!error.refused && tried === 0) throw error;
  return error.refused;
}
