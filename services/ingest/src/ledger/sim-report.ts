import { isTable } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service/program';
import { jsonElements } from './json-elements.ts';

/** An inclusive range of sequence numbers. */
export type Range = readonly [first: number, last: number];

/** What the simulator published of one boot of a device. */
export interface PublishedBoot {
  readonly boot: string;
  readonly first: number;
  readonly last: number;
  /** Numbers of readings that were published. */
  readonly readings: number;
  /** Numbers that the broker acknowledged, ascending. Null with QoS 0. */
  readonly acknowledged: readonly Range[] | null;
  /** Numbers of readings with the metric and time of an earlier one, ascending. One of both is stored. */
  readonly repeated: readonly Range[];
}

export interface PublishedDevice {
  readonly device: string;
  /** Number n is of the metric at n modulo their count. */
  readonly metrics: readonly string[];
  readonly boots: readonly PublishedBoot[];
}

/**
 * Reads the devices of a report of the simulator (`npm run sim -- --report FILE`), one after the other.
 *
 * @throws {ConfigError} when the file is not a report with sequence numbers
 */
export async function* readSimReport(file: string): AsyncGenerator<PublishedDevice> {
  let devices = 0;
  try {
    for await (const { key, value } of jsonElements(file)) {
      if (key === 'failures') throw new Error(`the run failed: ${value}`);
      if (key === 'devices') yield toDevice(value, devices++);
    }
    if (devices === 0) throw new Error('it has no devices');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new ConfigError([`--against ${file}: there is no such file`]);
    throw new ConfigError([
      `--against ${file}: ${(error as Error).message}: use a report of npm run sim -- --report ${file} with JSON payloads`,
    ]);
  }
}

function toDevice(value: unknown, index: number): PublishedDevice {
  const where = `devices[${index}]`;
  if (!isTable(value)) throw new Error(`${where} is not an object`);
  const { device, metrics, boots } = value;
  if (typeof device !== 'string') throw new Error(`${where}.device is not a text`);
  const isNames =
    Array.isArray(metrics) && metrics.length > 0 && metrics.every((each) => typeof each === 'string');
  if (!isNames) throw new Error(`${where}.metrics is not a list of texts`);
  if (boots === null)
    throw new Error(`${where}.boots is null, because its payloads have no sequence numbers`);
  if (!Array.isArray(boots)) throw new Error(`${where}.boots is not a list`);
  return { device, metrics, boots: boots.map((boot, place) => toBoot(boot, `${where}.boots[${place}]`)) };
}

function toBoot(value: unknown, where: string): PublishedBoot {
  if (!isTable(value)) throw new Error(`${where} is not an object`);
  const { boot, first, last, readings, acknowledged, repeated } = value;
  if (typeof boot !== 'string') throw new Error(`${where} has no boot`);
  if (!isNumber(first) || !isNumber(last) || !isNumber(readings) || first > last)
    throw new Error(`${where} has no first, last and readings`);
  if (acknowledged === undefined)
    throw new Error(`${where}.acknowledged is absent: the report is of an earlier version of the simulator`);
  return {
    boot,
    first,
    last,
    readings,
    acknowledged: acknowledged === null ? null : toRanges(acknowledged, `${where}.acknowledged`),
    repeated: repeated === undefined ? [] : toRanges(repeated, `${where}.repeated`),
  };
}

function toRanges(value: unknown, where: string): readonly Range[] {
  let end = -2;
  const isRange = (each: unknown): each is Range => {
    if (!Array.isArray(each) || each.length !== 2 || !each.every(isNumber)) return false;
    const [first, last] = each as [number, number];
    const isAfter = first > end + 1 && last >= first;
    end = last;
    return isAfter;
  };
  if (Array.isArray(value) && value.every(isRange)) return value;
  throw new Error(`${where} is not a list of ascending ranges`);
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
