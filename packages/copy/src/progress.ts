import { counted } from '@tidegauge/text';

const EVERY_MS = { terminal: 1000, pipe: 10_000 } as const;

/** What the progress of a copy is printed to. `process.stderr` has it. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Prints rate and remaining time: on a terminal one line that changes, otherwise a line every ten seconds. */
export class Progress {
  readonly #output: ProgressOutput;
  readonly #what: string;
  readonly #started = performance.now();
  readonly #shares = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  /** Devices in all, or null while it is not known. */
  #devices: number | null = null;
  /** Readings in all, or null if they are not known. */
  #total: number | null = null;
  #done = 0;
  #isLineOpen = false;
  /** Readings of the source so far. */
  readings = 0;

  constructor(output: ProgressOutput, what: string) {
    this.#output = output;
    this.#what = what;
    this.#timer = setInterval(() => this.#print(), output.isTTY ? EVERY_MS.terminal : EVERY_MS.pipe);
    this.#timer.unref();
  }

  get seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }

  expect(devices: number): void {
    this.#devices = devices;
  }

  expectReadings(total: number): void {
    this.#total = total;
  }

  /** @param share the part of the device that is done, from 0 to 1 */
  advance(count: number, device: string, share: number): void {
    this.readings += count;
    this.#shares.set(device, share);
  }

  /** Devices that are finished. */
  finish(devices: readonly string[]): void {
    this.#done += devices.length;
    for (const device of devices) this.#shares.delete(device);
  }

  /** Prints a line that stays. */
  line(text: string): void {
    this.#output.write(`${this.#isLineOpen ? '\n' : ''}${text}\n`);
    this.#isLineOpen = false;
  }

  stop(): void {
    clearInterval(this.#timer);
    if (this.#isLineOpen) this.#output.write('\n');
    this.#isLineOpen = false;
  }

  #print(): void {
    const text = this.#text();
    if (!this.#output.isTTY) {
      this.line(text);
      return;
    }
    this.#output.write(`\r\x1b[K${text}`);
    this.#isLineOpen = true;
  }

  #text(): string {
    const rate = Math.round(this.readings / Math.max(this.seconds, 0.001));
    const done = this.#done + [...this.#shares.values()].reduce((sum, share) => sum + share, 0);
    const parts = [`${this.#what}: ${some(this.readings, 'reading')}`, `${number(rate)}/s`];
    if (this.#total !== null && this.readings > 0 && this.readings <= this.#total) {
      const left = (this.seconds * (this.#total - this.readings)) / this.readings;
      parts.push(`of ${number(this.#total)}, about ${duration(left)} left`);
    } else if (this.#devices !== null) {
      parts.push(`${number(this.#done)} of ${number(this.#devices)} devices`);
      if (done > 0 && done <= this.#devices)
        parts.push(`about ${duration((this.seconds * (this.#devices - done)) / done)} left`);
    }
    return parts.join(', ');
  }
}

/** A number of things: `1 reading`, `12,345 readings`. */
export function some(value: number, noun: string): string {
  return counted(value, noun, number);
}

/** 1234567 -> 1,234,567 */
export function number(value: number): string {
  return value.toLocaleString('en-US');
}

/** Seconds as `45 s`, `12 min` or `3.5 h`. */
export function duration(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
