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

const OF_READINGS = [
  'latest',
  'pages',
  'numbers',
  'aggregate',
  'groups',
  'rangeOfDevices',
  'expire',
  'units',
] as const;

/** The calls of which an engine can have native versions. `units` are `units` and `setUnits`. */
export const NATIVE_CALLS = [...OF_READINGS, 'devices', 'rollups', 'lease'] as const;
export type NativeCall = (typeof NATIVE_CALLS)[number];

/** The calls of which an engine has native versions. */
export function nativeCallsOf(engine: Backend): NativeCall[] {
  const { readings, devices, rollups, lease } = engine;
  const parts = Object.entries({ devices, rollups, lease }).filter(([, part]) => part !== undefined);
  const ofReadings = OF_READINGS.filter((call) => readings[call] !== undefined);
  return [...ofReadings, ...parts.map(([call]) => call as NativeCall)];
}

/**
 * Derives what an engine lacks.
 *
 * @param derived calls that are derived although the engine has native versions. Units, devices, rollups and leases are kept in
 * another way then, which native `groups` and `expire` do not know. For tests and comparisons, on a database that is used in this
 * way only.
 */
export function complete(engine: Backend, derived: readonly NativeCall[] = []): CompleteBackend {
  const { name, capabilities } = engine;
  const isNative = (call: NativeCall) => !derived.includes(call);
  const readings = derived.length === 0 ? engine.readings : without(engine.readings, derived);
  const { maxBatch } = capabilities;
  const latest: NativeReadings['latest'] =
    readings.latest === undefined ? latestOf(readings) : (devices, limit) => readings.latest!(devices, limit);
  const core = withLatest(readings, latest);
  const cells = new Cells(core, maxBatch);
  const leases = new DerivedLeases(cells);
  const devices = (isNative('devices') ? engine.devices : undefined) ?? new DerivedDevices(core, cells);
  const nativeRollups = isNative('rollups') ? engine.rollups : undefined;
  const derivedRollups =
    capabilities.rollups && nativeRollups === undefined
      ? new DerivedRollups(core, maxBatch, cells, leases)
      : null;
  const rollups = nativeRollups ?? derivedRollups ?? undefined;
  const lease = isNative('lease') ? engine.lease : undefined;
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

/** The readings of an engine without some native versions. Totals of days are not a version of anything. */
function without(engine: BackendReadings, derived: readonly NativeCall[]): BackendReadings {
  const { totals } = engine;
  const native = OF_READINGS.filter((call) => engine[call] !== undefined && !derived.includes(call));
  const names = native.includes('units') ? [...native, 'setUnits' as const] : native;
  return {
    ...bound(engine),
    ...Object.fromEntries(names.map((name) => [name, engine[name]!.bind(engine)])),
    ...(totals === undefined ? {} : { totals }),
  };
}

function withLatest(
  engine: CoreReadings,
  latest: NativeReadings['latest'],
): CoreReadings & Pick<NativeReadings, 'latest'> {
  return { ...bound(engine), latest };
}

function bound(engine: CoreReadings): CoreReadings {
  return {
    write: (batch, effort) => engine.write(batch, effort),
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
