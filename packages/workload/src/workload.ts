import { parseProperties } from './properties.ts';
import { type ReadFile, type RecordWorkload, recordWorkload } from './records.ts';
import { Settings } from './settings.ts';

export interface ParseOptions {
  /** The name of the file in errors. */
  readonly file: string;
  /** Properties that override those of the file, like `-p name=value` in YCSB. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** Reads the field length histogram; without this function histograms are not possible. */
  readonly readFile?: ReadFile;
}

/**
 * Parses a YCSB property file, with YCSB's names and defaults.
 *
 * @throws {WorkloadError} with one line: file, property, problem and how to fix it. Unlike YCSB, a mix that does not
 * add up to 1 is an error.
 */
export function parseWorkload(text: string, options: ParseOptions): RecordWorkload {
  const properties = parseProperties(text, options.file);
  for (const [name, value] of Object.entries(options.overrides ?? {})) properties.set(name, value);
  return recordWorkload(new Settings(options.file, properties), options.readFile ?? null);
}
