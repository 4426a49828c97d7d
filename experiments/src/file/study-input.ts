import { isAbsolute, join } from 'node:path';
import type { ConfigError } from '@tidegauge/service/program';
import { type Mistake, type Path, readBounded } from '@tidegauge/yaml-file';
import type { PlaceName } from '../model.ts';
import type { StudyFile } from './study-file.ts';

/** The data of an experiment file while it is read. It collects mistakes instead of throwing. */
export class StudyInput {
  readonly file: StudyFile;
  readonly quick: boolean;
  /** Where the study runs. null: not known. */
  readonly on: PlaceName | null;
  /** The parts to keep. Empty: all. */
  readonly onlyParts: readonly string[];
  /** Stores that some machines lack, and this place has. */
  readonly available: readonly string[];
  readonly mistakes: Mistake[];
  /** Texts of the files that the study names, by their name there. */
  readonly files: Record<string, string> = {};
  readonly #directory: string;
  /** What the schema refused is not checked again. */
  readonly #refused: ReadonlySet<string>;

  /**
   * @param place `directory` has the files that the study names
   * @param mistakes what the schema refused
   */
  constructor(
    file: StudyFile,
    place: Pick<StudyInput, 'quick' | 'on' | 'onlyParts' | 'available'> & { readonly directory: string },
    mistakes: readonly Mistake[],
  ) {
    this.file = file;
    this.#directory = place.directory;
    this.quick = place.quick;
    this.on = place.on;
    this.onlyParts = place.onlyParts;
    this.available = place.available;
    this.mistakes = [...mistakes];
    this.#refused = new Set(mistakes.map(({ path }) => path.slice(0, 2).join(' ')));
  }

  /** Records a mistake: in the value at the path, or in its key. */
  add(path: Path, message: string, atKey = false): void {
    this.mistakes.push({ path, message, atKey });
  }

  /** Whether the schema refused the value at the path. */
  isRefused(path: Path): boolean {
    return this.#refused.has(path.slice(0, 2).join(' ')) || this.#refused.has(String(path[0]));
  }

  /** Whether the part of the file is among those that the caller asked for. */
  keeps(part: string): boolean {
    return this.onlyParts.length === 0 || this.onlyParts.includes(part);
  }

  /** What `parse` returns, or null after a mistake. */
  parsed<T>(path: Path, parse: () => T): T | null {
    try {
      return parse();
    } catch (error) {
      this.add(path, (error as Error).message);
      return null;
    }
  }

  /** The text of a file beside the experiment file, or null after a mistake. The text is kept for the results. */
  readFile(path: Path, name: string): string | null {
    if (isAbsolute(name)) {
      this.add(path, 'it is an absolute path: name a file relative to the experiment file');
      return null;
    }
    try {
      this.files[name] = readBounded(join(this.#directory, name));
      return this.files[name];
    } catch (error) {
      this.add(path, (error as ConfigError).problems[0]!);
      return null;
    }
  }
}

/** Whether a value of a file is a set of keys. */
export function isObject(value: unknown): value is Readonly<Record<string, never>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
