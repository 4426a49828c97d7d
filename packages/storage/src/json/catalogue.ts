import type { SeriesName } from '../contract.ts';
import { compareText } from '../merge.ts';
import { withChecksum } from './line-checksum.ts';
import { Log, type LogOwner } from './log.ts';
import { parseLine } from './mapping.ts';
import { dayName, dayNamed } from './schema.ts';
import type { SkippedLines } from './skipped-lines.ts';

const WORTH_COMPACTING = 1024 * 1024;

/**
 * The days on which each series has readings, so that a query about one device opens only files with its readings.
 * It can list a day too many (if a writer was killed between the two files). After a write has resolved, it never
 * misses a day.
 */
export class Catalogue implements LogOwner {
  readonly #log: Log;
  readonly #devices = new Map<string, Map<string, number[]>>();
  #live = 0;
  #garbage = 0;

  constructor(folder: string, skipped: SkippedLines) {
    this.#log = new Log(folder, 'series', this, skipped);
  }

  reset(): void {
    this.#devices.clear();
    this.#live = 0;
    this.#garbage = 0;
  }

  line(text: string): boolean {
    const line = parseLine(text);
    const dropped = dayNamed(line?.dropped);
    if (dropped !== null) {
      this.#forget(dropped);
      return true;
    }
    const day = dayNamed(line?.day);
    const device = line?.device;
    const metrics = line?.metrics;
    if (day === null || typeof device !== 'string' || !Array.isArray(metrics)) return false;
    for (const metric of metrics) if (typeof metric === 'string') this.#add(day, device, metric);
    return true;
  }

  async *live(): AsyncGenerator<string> {
    for (const [device, metrics] of this.#devices) {
      const byDay = new Map<number, string[]>();
      for (const [metric, days] of metrics) {
        for (const day of days) byDay.set(day, [...(byDay.get(day) ?? []), metric]);
      }
      let lines = '';
      for (const [day, names] of byDay) lines += encode(day, device, names);
      yield lines;
    }
  }

  refresh(): Promise<void> {
    return this.#log.exclusive(() => this.#log.refresh(false));
  }

  /** Days on which the device has readings of the metric, or of any metric if none is named. Ascending. */
  days(device: string, metric?: string): number[] {
    const metrics = this.#devices.get(device);
    if (metrics === undefined) return [];
    if (metric !== undefined) return [...(metrics.get(metric) ?? [])];
    return [...new Set([...metrics.values()].flat())].sort((a, b) => a - b);
  }

  /** All days with readings. */
  allDays(): Set<number> {
    const all = new Set<number>();
    for (const metrics of this.#devices.values()) {
      for (const days of metrics.values()) for (const day of days) all.add(day);
    }
    return all;
  }

  /** All devices with readings, by name. */
  allDevices(): string[] {
    return [...this.#devices.keys()].sort(compareText);
  }

  metrics(device: string): string[] {
    return [...(this.#devices.get(device)?.keys() ?? [])];
  }

  /**
   * Resolves when the catalogue lists the day for these series. Called after the readings are in the file of the
   * day.
   */
  async ensure(day: number, readings: readonly SeriesName[]): Promise<void> {
    const mark = await this.#log.exclusive(async () => {
      do await this.#log.refresh(true);
      while (!(await this.#appendMissing(day, readings)));
      return this.#log.mark;
    });
    await this.#log.durable(mark);
  }

  /**
   * Removes a day. Its file is deleted afterwards, so that a reading that is written in between is found again.
   */
  async drop(days: readonly number[]): Promise<void> {
    if (days.length === 0) return;
    const lines = days.map((day) => `${withChecksum(`{"dropped":"${dayName(day)}"}`)}\n`).join('');
    const mark = await this.#log.exclusive(async () => {
      do await this.#log.refresh(true);
      while ((await this.#log.append(lines)) === null);
      for (const day of days) this.#forget(day);
      if (this.#garbage > this.#live && this.#log.size > WORTH_COMPACTING) await this.#log.compact();
      return this.#log.mark;
    });
    await this.#log.durable(mark);
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  async #appendMissing(day: number, readings: readonly SeriesName[]): Promise<boolean> {
    const missing = new Map<string, Set<string>>();
    for (const { device, metric } of readings) {
      const days = this.#devices.get(device)?.get(metric);
      if (days !== undefined && (days.at(-1) === day || days.includes(day))) continue;
      const metrics = missing.get(device);
      if (metrics === undefined) missing.set(device, new Set([metric]));
      else metrics.add(metric);
    }
    if (missing.size === 0) return true;
    const entries = [...missing].map(([device, metrics]) => [device, [...metrics]] as const);
    const lines = entries.map(([device, metrics]) => encode(day, device, metrics)).join('');
    if ((await this.#log.append(lines)) === null) return false;
    for (const [device, metrics] of entries) for (const metric of metrics) this.#add(day, device, metric);
    return true;
  }

  #add(day: number, device: string, metric: string): void {
    let metrics = this.#devices.get(device);
    if (metrics === undefined) {
      metrics = new Map();
      this.#devices.set(device, metrics);
    }
    const days = metrics.get(metric);
    this.#live += 1;
    if (days === undefined) metrics.set(metric, [day]);
    else if (days.at(-1)! < day) days.push(day);
    else if (days.includes(day)) this.#live -= 1;
    else {
      days.push(day);
      days.sort((a, b) => a - b);
    }
  }

  #forget(day: number): void {
    for (const [device, metrics] of this.#devices) {
      for (const [metric, days] of metrics) {
        const index = days.indexOf(day);
        if (index === -1) continue;
        days.splice(index, 1);
        this.#live -= 1;
        this.#garbage += 1;
        if (days.length === 0) metrics.delete(metric);
      }
      if (metrics.size === 0) this.#devices.delete(device);
    }
  }
}

function encode(day: number, device: string, metrics: readonly string[]): string {
  return `${withChecksum(JSON.stringify({ day: dayName(day), device, metrics }))}\n`;
}
