import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Reading } from '@tidegauge/readings';
import * as check from './arguments.ts';
import type { CompleteReadings } from './backend.ts';
import type { RangeQuery, ReadingStore, WriteEffort, WriteResult } from './contract.ts';
import { StoreError } from './errors.ts';
import type { Gate } from './gate.ts';
import { toRowQuery } from './groups.ts';
import { compareText } from './merge.ts';
import type { Rollups } from './rollups/rollups.ts';
import { SeriesBound } from './series-bound.ts';

/** The readings of a store: checks arguments, and writes large batches in parts. */
export function wrapReadings(
  inner: CompleteReadings,
  rollups: Rollups | null,
  maxBatch: number,
  gate: Gate,
): ReadingStore {
  const series = new SeriesBound((device, limit) =>
    gate.observed('readings.metrics', () => inner.metrics(device, limit)),
  );
  async function* pages(query: RangeQuery): AsyncGenerator<readonly Reading[]> {
    check.checkRange(query);
    yield* gate.stream('readings.range', () => inner.pages?.(query) ?? singly(inner.range(query)));
  }
  return {
    async write(batch, effort) {
      const known = check.checkBatch(batch, series.has);
      if (batch.length === 0) return { stored: 0, duplicate: 0 };
      const store = () =>
        batch.length <= maxBatch ? inner.write(batch, effort) : writeInPieces(inner, batch, maxBatch, effort);
      const write = () => (rollups === null ? store() : rollups.write(batch, store, effort));
      return gate.pass('readings.write', known ? write : () => series.admit(batch).then(write));
    },
    async *range(query) {
      for await (const page of pages(query)) {
        for (const each of page) {
          gate.demandOpen();
          yield each;
        }
      }
    },
    pages,
    async latest(devices, limit = Number.MAX_SAFE_INTEGER) {
      check.checkDevices(devices);
      check.checkLimit(limit);
      if (devices.length === 0) return [];
      return await gate.pass('readings.latest', () =>
        inner.latest([...new Set(devices)].sort(compareText), limit),
      );
    },
    async metrics(device, limit) {
      check.checkDevices([device]);
      check.checkLimit(limit);
      return gate.pass('readings.metrics', () => inner.metrics(device, limit));
    },
    async *devices(after) {
      if (after !== undefined) check.checkDevices([after]);
      yield* gate.stream('readings.devices', () => inner.devices(after));
    },
    async setUnits(units) {
      check.checkUnits(units);
      if (units.length > 0) await gate.pass('readings.setUnits', () => inner.setUnits(units));
    },
    async units(series) {
      check.checkSeriesNames(series);
      if (series.length === 0) return [];
      return await gate.pass('readings.units', () => inner.units(series));
    },
    async aggregate(query) {
      check.checkAggregate(query);
      return gate.pass('readings.aggregate', async () => {
        if (rollups !== null) return rollups.aggregate(query);
        const buckets = await inner.aggregate(query);
        return { buckets, sources: ['raw'], incompleteBefore: null };
      });
    },
    async groups(query) {
      check.checkGroups(query);
      const { devices, ...all } = query;
      // A filter without fields matches every device, so it is no filter.
      const selection = devices === undefined || !check.isFilter(devices) ? all : query;
      return gate.pass('readings.groups', async () => {
        if (rollups !== null) return rollups.groups(selection);
        const rowQuery = toRowQuery(selection);
        if (rowQuery === null)
          throw new StoreError('NOT_SUPPORTED', 'the store has no rollups for such groups');
        return { ...(await inner.groups(rowQuery)), sources: ['raw'], incompleteBefore: null };
      });
    },
    async *rangeOfDevices(filter, query) {
      check.checkDevicesRange(filter, query);
      yield* gate.stream('readings.rangeOfDevices', () => inner.rangeOfDevices(filter, query));
    },
    async rollUp(from, to) {
      check.checkTime(from);
      check.checkTime(to);
      return gate.pass('readings.rollUp', () => inner.rollUp(from, to));
    },
    async expire(before, pace) {
      check.checkTime(before);
      return gate.pass('readings.expire', async () => {
        await rollups?.limitRaw(before, {});
        return inner.expire(before, pace);
      });
    },
    async delete(query, pace) {
      check.checkDelete(query);
      const remove = () => inner.delete(query, pace);
      return gate.pass('readings.delete', () =>
        rollups === null || query.keepRollups === true ? remove() : rollups.delete(query, remove),
      );
    },
  };
}

/** Pages of one reading, so that each is delivered as soon as the engine has read it. */
async function* singly(readings: AsyncIterable<Reading>): AsyncGenerator<readonly Reading[]> {
  for await (const reading of readings) yield [reading];
}

/**
 * Writes the parts one after the other, so that the last of equal identities wins. The event loop runs between the
 * parts, because an embedded engine works in this thread.
 */
async function writeInPieces(
  inner: CompleteReadings,
  batch: readonly Reading[],
  size: number,
  effort: WriteEffort | undefined,
): Promise<WriteResult> {
  let stored = 0;
  let duplicate = 0;
  for (let start = 0; start < batch.length; start += size) {
    if (start > 0) await nextTurn();
    try {
      const duplicates: number[] = [];
      const result = await inner.write(batch.slice(start, start + size), { newHours: 0, duplicates });
      for (const place of duplicates) effort?.duplicates?.push(start + place);
      stored += result.stored;
      duplicate += result.duplicate;
    } catch (error) {
      if (!(error instanceof StoreError) || error.rows === null) throw error;
      const rows = error.rows.map((row) => row + start);
      throw new StoreError(error.code, error.message, { cause: error, rows });
    }
  }
  return { stored, duplicate };
}
