import type { Backend, BackendReadings, CompleteBackend, CoreReadings, NativeReadings } from '../backend.ts';
import { ROLLUPS_STATE, sinceDocument } from '../rollups/limits.ts';
import { Cells } from './cells.ts';
import { DerivedDevices } from './devices.ts';
import { DerivedLeases } from './leases.ts';
import { completeReadings, latestOf } from './readings.ts';
import { completeRecords } from './records.ts';
import { isReserved } from './reserved.ts';
import { DerivedRollups } from './rollups.ts';
import { DerivedUnits } from './units.ts';

/**
 * Derives what an engine lacks.
 *
 * @param native false: derives also what the engine has native versions of, and keeps its data in another way. For tests
 * and comparisons, on a database that is used in this way only.
 */
export function complete(engine: Backend, native = true): CompleteBackend {
  const { name, capabilities } = engine;
  const readings = native ? engine.readings : coreOf(engine.readings);
  const { maxBatch } = capabilities;
  const latest: NativeReadings['latest'] =
    readings.latest === undefined ? latestOf(readings) : (devices, limit) => readings.latest!(devices, limit);
  const core = withLatest(readings, latest);
  const cells = new Cells(core, maxBatch);
  const leases = new DerivedLeases(cells);
  const devices = (native ? engine.devices : undefined) ?? new DerivedDevices(core, cells);
  const nativeRollups = native ? engine.rollups : undefined;
  const derivedRollups =
    capabilities.rollups && nativeRollups === undefined
      ? new DerivedRollups(core, maxBatch, cells, leases)
      : null;
  const rollups = nativeRollups ?? derivedRollups ?? undefined;
  const lease = native ? engine.lease : undefined;
  const hasReserved =
    [lease, nativeRollups, readings.units].includes(undefined) || devices instanceof DerivedDevices;
  return {
    name,
    capabilities,
    records: completeRecords(engine.records),
    devices,
    readings: completeReadings(readings, { latest, devices, units: new DerivedUnits(cells), hasReserved }),
    ...(rollups === undefined ? {} : { rollups }),
    open: () => engine.open(),
    async migrate() {
      await engine.migrate();
      if (derivedRollups !== null)
        await derivedRollups.ensureState(ROLLUPS_STATE, sinceDocument(await isEmpty(core)));
    },
    health: () => engine.health(),
    lease: (key, holder, ms) => lease?.call(engine, key, holder, ms) ?? leases.take(key, holder, ms),
    compact: async () => (await engine.compact?.()) ?? false,
    space: async () => (await engine.space?.()) ?? null,
    close: async () => engine.close?.(),
  };
}

/** The readings of an engine without native versions. Totals of days are not a version of anything. */
function coreOf(engine: BackendReadings): BackendReadings {
  const { totals } = engine;
  return { ...bound(engine), ...(totals === undefined ? {} : { totals }) };
}

function withLatest(
  engine: CoreReadings,
  latest: NativeReadings['latest'],
): CoreReadings & Pick<NativeReadings, 'latest'> {
  return { ...bound(engine), latest };
}

function bound(engine: CoreReadings): CoreReadings {
  return {
    write: (batch) => engine.write(batch),
    range: (query) => engine.range(query),
    metrics: (device, limit) => engine.metrics(device, limit),
    devices: (after) => engine.devices(after),
    delete: (query, pace) => engine.delete(query, pace),
  };
}

async function isEmpty(readings: Pick<CoreReadings, 'devices'>): Promise<boolean> {
  for await (const device of readings.devices()) if (!isReserved(device)) return false;
  return true;
}
