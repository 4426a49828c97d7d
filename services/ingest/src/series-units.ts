import { unitProblem } from '@tidegauge/readings';
import { type Logger, Seldom } from '@tidegauge/service';
import type { SeriesName, SeriesUnit, Store } from '@tidegauge/storage';
import { copyString } from '@tidegauge/text';
import { ByteCache } from './byte-cache.ts';
import { BOUNDS } from './memory.ts';

/** Approximate bytes of a unit besides its text. */
const UNIT_BYTES = 32;
/** Units that one call of the store reads or writes. */
const AT_ONCE = 1000;
/** Changes of units are logged once in this time, because a sensor can state another unit in each message. */
const LOG_EVERY_MS = 10_000;

export const NO_UNITS: readonly SeriesUnit[] = [];

/**
 * The units of series on their way to the store. A decoder states the unit of each value. A unit that the store is not
 * known to have becomes part of its message, and is stored after its readings and before the acknowledgement. So a
 * message that is received again, because this process was killed, brings its units again.
 */
export class SeriesUnits {
  /** Series whose stored unit was replaced by another one since the start. */
  changes = 0;
  readonly #known = new ByteCache<string>(BOUNDS.knownUnits, (unit) => UNIT_BYTES + 2 * unit.length);
  #fresh: SeriesUnit[] = [];
  readonly #log = new Seldom(LOG_EVERY_MS);

  /** @param name device and metric with a space between them */
  readonly note = (name: string, device: string, metric: string, unit: string): void => {
    if (this.#known.get(name) === unit || unitProblem(unit) !== null) return;
    this.#fresh.push({ device, metric, unit });
  };

  /** The unit of a series that this process stored or found in the store; null for others. */
  readonly unitOf = (series: SeriesName): string | null => this.#known.get(nameOf(series)) ?? null;

  /** The units that were stated since the last call and that the store may not have. Of a series the last one. */
  take(): readonly SeriesUnit[] {
    if (this.#fresh.length === 0) return NO_UNITS;
    const last = new Map(this.#fresh.map((each) => [nameOf(each), each]));
    this.#fresh = [];
    return [...last.values()].map(({ device, metric, unit }) => ({
      device: copyString(device),
      metric: copyString(metric),
      unit: copyString(unit),
    }));
  }

  /**
   * Stores the units that differ from those in the store.
   *
   * @param units the last one of a series counts
   * @param replaces whether a unit replaces another stored unit
   * @throws {StoreError} as `setUnits` does
   */
  async store(
    { readings }: Pick<Store, 'readings'>,
    units: readonly SeriesUnit[],
    replaces: boolean,
    logger: Logger,
  ): Promise<void> {
    const last = new Map(units.map((each) => [nameOf(each), each]));
    const wanted = [...last].flatMap(([name, each]) => (this.#known.get(name) === each.unit ? [] : [each]));
    for (let start = 0; start < wanted.length; start += AT_ONCE) {
      const some = wanted.slice(start, start + AT_ONCE);
      const before = await readings.units(some);
      const differing = some.filter(({ unit }, index) =>
        before[index] === null ? true : replaces && before[index] !== unit,
      );
      await readings.setUnits(differing);
      for (const [index, each] of some.entries()) {
        const old = before[index] ?? null;
        if (old !== null && old !== each.unit && replaces) this.#changed(each, old, logger);
        this.#known.set(nameOf(each), old === null || replaces ? each.unit : old);
      }
    }
  }

  /** Does not store these units again while they stay the same. The store refuses them. */
  giveUp(units: readonly SeriesUnit[]): void {
    for (const each of units) this.#known.set(nameOf(each), each.unit);
  }

  #changed({ device, metric, unit }: SeriesUnit, before: string, logger: Logger): void {
    this.changes++;
    if (this.#log.isDue())
      logger.warn({ device, metric, before, unit, changes: this.changes }, 'the unit of a series changed');
  }
}

export function nameOf({ device, metric }: SeriesName): string {
  return `${device} ${metric}`;
}
