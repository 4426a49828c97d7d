import type { Backend } from './backend.ts';
import type { CheckPace, Damage } from './damage.ts';
import type { OptionSchema } from './options.ts';
import type { StoreUrl } from './url.ts';

/** The part of a logger that backends use. Loggers of pino have it. */
export interface BackendLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What a backend receives besides its URL. */
export interface BackendContext {
  readonly logger: BackendLogger;
}

/** What a backend folder's `index.ts` exports. */
export interface BackendModule {
  /** The options of its URLs, by scheme. */
  readonly options: Readonly<Record<string, OptionSchema>>;
  /**
   * Checks the URL. Does no I/O before `open`.
   * @throws {StoreError} MISCONFIGURED
   */
  create(url: StoreUrl, context: BackendContext): Backend;
  /**
   * Reads all files of a store on this machine. Absent for a server, which has its own checks.
   * @param takesOut whether damaged parts that make reads fail are taken out
   */
  check?(url: StoreUrl, pace: CheckPace, takesOut: boolean): AsyncIterable<Damage>;
}

const ignore = () => {};
export const silentLogger: BackendLogger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
