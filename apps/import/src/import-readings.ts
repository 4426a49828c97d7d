import { type Progress, patiently, readState, SumDigest, some, writeState } from '@tidegauge/copy';
import { now } from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';
import { Chunk } from './chunk.ts';
import type { ImportSource } from './import-source.ts';
import { describeDevices, registerDevices, type StoredCounts, type Sums, storeChunk } from './store-chunk.ts';
import { Tally, type TallyDocument } from './tally.ts';

/** Names that are kept in memory, so that a device is registered once. */
const MOST_DEVICES = 100_000;

/** What an import did, over all of its runs. */
export interface ImportCounts extends StoredCounts {
  /** Readings of the source. */
  readonly readings: number;
  /** Readings of one series and time with one value, which are one reading. */
  readonly repeated: number;
}

/** How far an import is. It is in the store, so that it is deleted with the data. */
interface ImportState {
  readonly version: 1;
  readonly source: string;
  /** `ImportSource.version` when it began. */
  readonly content: string;
  /** When it began, microseconds. Times more than a day later are refused, in all runs. */
  readonly began: number;
  readonly position: unknown;
  readonly counts: ImportCounts;
  readonly sums: readonly [source: SumDocument, store: SumDocument];
  readonly tally: TallyDocument;
  /** Null while it is not complete. */
  readonly finished: string | null;
}

interface SumDocument {
  readonly count: number;
  readonly hex: string;
}

export interface ImportResult {
  readonly source: string;
  readonly counts: ImportCounts;
  /** The number and digest of the readings that were verified, on both sides. */
  readonly sums: Sums;
  readonly tally: Tally;
  readonly described: number;
}

const NO_COUNTS: ImportCounts = { readings: 0, repeated: 0, written: 0, equal: 0, replaced: 0, kept: 0 };

/**
 * Writes the readings of a source to a store, in chunks that are verified, and continues an import that was stopped. An
 * import that is complete begins again, and then compares.
 *
 * @param open makes the source. @param received is the time that no reading may exceed by more than a day
 * @throws {Error} when the source cannot be read, or the store is unavailable for ten minutes
 */
export async function importReadings(
  store: Store,
  open: (received: number) => ImportSource,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: Progress },
): Promise<ImportResult> {
  const firmly = <T>(work: () => Promise<T>) => patiently(work, signal, (line) => progress.line(line));
  const fresh = now();
  let source = open(fresh);
  const place = `import:${source.name}`;
  const known = await firmly(() => readState<ImportState>(store, place));
  const isPartial = known !== null && known.finished === null && known.position !== null;
  const kept = isPartial && known.content === source.version ? known : null;
  if (kept !== null) {
    progress.line(`continues after ${some(kept.counts.readings, 'reading')}`);
    source.close?.();
    source = open(kept.began);
  } else if (isPartial)
    progress.line(`${source.name} or its options have changed: it is read from the beginning`);
  const began = kept?.began ?? fresh;
  const tally = new Tally(kept?.tally);
  const counts = { ...NO_COUNTS, ...kept?.counts };
  const sums: Sums = { source: new SumDigest(kept?.sums[0]), store: new SumDigest(kept?.sums[1]) };
  let position: unknown = kept?.position ?? null;
  const registered = new Set<string>();

  const save = async (finished: string | null): Promise<void> => {
    const state: ImportState = {
      version: 1,
      source: source.name,
      content: source.version,
      began,
      position,
      counts,
      sums: [documentOf(sums.source), documentOf(sums.store)],
      tally: tally.toDocument(),
      finished,
    };
    await firmly(() => writeState(store, place, state));
  };

  const write = async (chunk: Chunk): Promise<void> => {
    const series = chunk.series();
    const stored = await firmly(() => storeChunk(store, series, sums, tally));
    for (const kind of Object.keys(stored) as (keyof StoredCounts)[]) counts[kind] += stored[kind];
    counts.repeated += chunk.repeated;
    const names = [...new Set(series.map(({ device }) => device))].filter((name) => !registered.has(name));
    await firmly(() => registerDevices(store, names));
    if (registered.size > MOST_DEVICES) registered.clear();
    for (const name of names) registered.add(name);
    await save(null);
  };

  try {
    let chunk = new Chunk();
    for await (const step of source.steps(position, tally)) {
      signal.throwIfAborted();
      for (const reading of step.readings) chunk.add(reading, tally);
      counts.readings += step.readings.length;
      position = step.position;
      progress.advance(step.readings.length, source.name, step.share);
      if (step.share > 0) {
        const left = (counts.readings * (1 - step.share)) / step.share;
        progress.expectReadings(Math.round(progress.readings + left));
      }
      if (!chunk.isFull) continue;
      await write(chunk);
      chunk = new Chunk();
    }
    await write(chunk);
    const described = await firmly(() => describeDevices(store, source.devices?.() ?? []));
    await save(new Date().toISOString());
    return { source: source.name, counts, sums, tally, described };
  } finally {
    source.close?.();
  }
}

function documentOf({ count, hex }: SumDigest): SumDocument {
  return { count, hex };
}
