import { forEach } from '@tidegauge/parallel';
import { BatchWriter } from './batch-writer.ts';
import { copyDevice, type Plan, type Sides, unequalDays, type Watch } from './compare-device.ts';
import { type CopyState, writeState } from './copy-record.ts';
import { DeviceGroups } from './device-groups.ts';
import { Differences } from './differences.ts';
import { dayName } from './digest.ts';
import { patiently } from './patiently.ts';
import type { Progress } from './progress.ts';
import { compareDevices, compareUnits, isBare, type NameCounts } from './registered.ts';

const DEVICES_AT_ONCE = 4;
/** Copies of one group of devices, while another program changes the target. */
const ATTEMPTS = 3;
const MAX_PROBLEMS = 20;

export interface CopyOptions {
  /** Identifies the source in the target, see `placeOf`. */
  readonly place: string;
  readonly state: CopyState;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

export interface CopyResult {
  readonly differences: Differences;
  /** Readings that the copy wrote. */
  readonly written: number;
  readonly refused: number;
  readonly units: NameCounts;
  readonly devices: NameCounts;
  /** What is not in the target as it should be: the first lines, without an end if empty. */
  readonly problems: readonly string[];
}

/**
 * Copies what the target lacks: registered devices, readings, and units of series. Each device is compared with the
 * target, its missing readings are written, and the written days are read again and compared by digest.
 */
export async function copyStore(sides: Sides, options: CopyOptions): Promise<CopyResult> {
  const { signal, progress } = options;
  const report = (line: string) => progress.line(line);
  const devices = await patiently(() => copyRegistered(sides, options.state.merge), signal, report);
  return new StoreCopy(sides, options, devices).run();
}

async function copyRegistered(sides: Sides, merge: boolean): Promise<NameCounts> {
  return compareDevices(sides, async (device, known) => {
    if (known === null || !merge || isBare(known)) await sides.target.devices.put(device);
  });
}

class StoreCopy {
  readonly #sides: Sides;
  readonly #options: CopyOptions;
  readonly #writer: BatchWriter;
  readonly #watch: Watch;
  readonly #differences = new Differences();
  readonly #problems: string[] = [];
  readonly #units: NameCounts = { total: 0, missing: 0, different: 0, extra: 0 };
  readonly #devices: NameCounts;

  constructor(sides: Sides, options: CopyOptions, devices: NameCounts) {
    this.#sides = sides;
    this.#options = options;
    this.#writer = new BatchWriter(sides.target);
    this.#devices = devices;
    const { signal, progress } = options;
    this.#watch = { signal, readings: (count, device, share) => progress.advance(count, device, share) };
  }

  async run(): Promise<CopyResult> {
    const { place, signal, progress } = this.#options;
    let { state } = this.#options;
    const report = (line: string) => progress.line(line);
    const firmly = <T>(work: () => Promise<T>) => patiently(work, signal, report);
    progress.expect(await firmly(() => this.#countDevices(state.after)));
    const groups = new DeviceGroups(this.#namesFrom(state.after, firmly));
    try {
      for (let group = await groups.next(); group.length > 0; group = await groups.next()) {
        const devices = group;
        const before = progress.readings;
        await firmly(() => this.#copyGroup(devices));
        state = { ...state, after: devices.at(-1)! };
        await firmly(() => writeState(this.#sides.target, place, state));
        progress.finish(devices);
        groups.measured(progress.readings - before);
      }
    } finally {
      await groups.close();
    }
    if (this.#problems.length === 0) {
      if (!state.merge) await firmly(() => this.#copyIdentity());
      const finished = { ...state, after: null, finished: new Date().toISOString() };
      await firmly(() => writeState(this.#sides.target, place, finished));
    } else {
      // The next run looks at all devices again.
      await firmly(() => writeState(this.#sides.target, place, { ...state, after: null }));
    }
    const { written, refused } = this.#writer;
    return {
      differences: this.#differences,
      written,
      refused,
      units: this.#units,
      devices: this.#devices,
      problems: this.#problems,
    };
  }

  /** Ingest of the source can continue with a target that has all of its data. */
  async #copyIdentity(): Promise<void> {
    const { source, target } = this.#sides;
    const identity = await source.identity();
    if (identity !== null) await target.identify(identity);
  }

  async #countDevices(after: string | null): Promise<number> {
    let count = 0;
    for await (const _ of this.#sides.source.readings.devices(after ?? undefined)) {
      count += 1;
      this.#options.signal.throwIfAborted();
    }
    return count;
  }

  /** The devices of the source. Continues after the last one when the source is unavailable for a time. */
  async *#namesFrom(
    start: string | null,
    firmly: <T>(work: () => Promise<T>) => Promise<T>,
  ): AsyncGenerator<string> {
    let last = start ?? undefined;
    let names = this.#sides.source.readings.devices(last)[Symbol.asyncIterator]();
    for (;;) {
      const next = await firmly(async () => {
        try {
          return await names.next();
        } catch (error) {
          names = this.#sides.source.readings.devices(last)[Symbol.asyncIterator]();
          throw error;
        }
      });
      if (next.done === true) return;
      last = next.value;
      yield next.value;
    }
  }

  /** After an error, the whole group is compared again. What was written then counts as equal. */
  async #copyGroup(devices: readonly string[]): Promise<void> {
    let left = devices;
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const refused = this.#writer.refused;
      await this.#writer.reset();
      const plans: Plan[] = [];
      await forEach(left, DEVICES_AT_ONCE, async (device) => {
        plans.push(await copyDevice(this.#sides, device, this.#writer, this.#watch));
      });
      await this.#writer.flush();
      await this.#copyUnits(plans);
      const unequal = new Map<string, readonly number[]>();
      await forEach(plans, DEVICES_AT_ONCE, async (plan) => {
        const days = await unequalDays(this.#sides.target, plan, this.#watch);
        if (days.length > 0) unequal.set(plan.device, days);
      });
      const isLast = attempt === ATTEMPTS || this.#writer.refused > refused;
      for (const plan of plans) {
        const days = unequal.get(plan.device);
        if (days === undefined || isLast) this.#count(plan, days ?? []);
      }
      if (isLast) return;
      left = [...unequal.keys()];
    }
  }

  #count({ device, counts }: Plan, unequal: readonly number[]): void {
    this.#differences.add(counts);
    for (const day of unequal) {
      const why = this.#writer.reasons[0] ?? 'another program changes the same days';
      if (this.#problems.length < MAX_PROBLEMS)
        this.#problems.push(`${device} ${dayName(day)}: the target differs from what was copied: ${why}`);
    }
  }

  async #copyUnits(plans: readonly Plan[]): Promise<void> {
    const series = plans.flatMap(({ device, metrics }) => metrics.map((metric) => ({ device, metric })));
    const { merge } = this.#options.state;
    const found = await compareUnits(this.#sides, series, async (units) => {
      const wanted = units.filter(({ known }) => known === null || !merge);
      await this.#sides.target.readings.setUnits(
        wanted.map(({ device, metric, unit }) => ({ device, metric, unit })),
      );
    });
    for (const kind of ['total', 'missing', 'different'] as const) this.#units[kind] += found[kind];
  }
}
