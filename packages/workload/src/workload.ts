import { parseProperties } from './properties.ts';
import { type ReadFile, type RecordWorkload, recordWorkload } from './records.ts';
import { Settings } from './settings.ts';

export interface ParseOptions {
  /** What errors call it. */
  readonly file: string;
  /** Properties that go before those of the file, as `-p name=value` does in YCSB. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** Reads the field length histogram; without it there can be none. */
  readonly readFile?: ReadFile;
}

/**
 * Reads a YCSB property file, with YCSB's names and defaults.
 *
 * @throws {WorkloadError} with one line: file, property, what is wrong, how to mend it. Unlike YCSB, a mix that
 * does not add up to 1 is an error.
 */
export function parseWorkload(text: string, options: ParseOptions): RecordWorkload {
  const properties = parseProperties(text, options.file);
  for (const [name, value] of Object.entries(options.overrides ?? {})) properties.set(name, value);
  return recordWorkload(new Settings(options.file, properties), options.readFile ?? null);
}
