import { WorkloadError } from './errors.ts';

/** Reads properties by name, each at most once, with one clear line for each mistake. */
export class Settings {
  readonly #file: string;
  readonly #properties: ReadonlyMap<string, string>;
  readonly #read = new Set<string>();

  constructor(file: string, properties: ReadonlyMap<string, string>) {
    this.#file = file;
    this.#properties = properties;
  }

  /** Names that are set and not used by this workload; YCSB files contain settings of other programs. */
  get ignored(): readonly string[] {
    return [...this.#properties.keys()].filter((name) => !this.#read.has(name));
  }

  has(name: string): boolean {
    this.#read.add(name);
    return this.#properties.has(name);
  }

  text(name: string, fallback: string): string {
    this.#read.add(name);
    return this.#properties.get(name)?.trim() ?? fallback;
  }

  /** A whole number from `low` to `high`. */
  whole(name: string, fallback: number, low: number, high: number): number {
    const text = this.text(name, String(fallback));
    const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= low && value <= high) return value;
    throw this.wrong(name, `${quoted(text)} is not a whole number from ${low} to ${high}`, 'set one');
  }

  /** A number from `low` to `high`. */
  real(name: string, fallback: number, low: number, high: number): number {
    const text = this.text(name, String(fallback));
    const value = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (value >= low && value <= high) return value;
    throw this.wrong(name, `${quoted(text)} is not a number from ${low} to ${high}`, 'set one');
  }

  flag(name: string, fallback: boolean): boolean {
    const text = this.text(name, String(fallback)).toLowerCase();
    if (text === 'true' || text === 'false') return text === 'true';
    throw this.wrong(name, `${quoted(text)} is neither true nor false`, 'give one of them');
  }

  oneOf<T extends string>(name: string, fallback: T, words: readonly T[]): T {
    const text = this.text(name, fallback);
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw this.wrong(name, `${quoted(text)} is unknown`, `use one of ${words.join(', ')}`);
  }

  wrong(name: string, what: string, fix: string): WorkloadError {
    return new WorkloadError(`${this.#file}: ${name}: ${what}; ${fix}`);
  }
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
