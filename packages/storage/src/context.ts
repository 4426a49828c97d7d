import type { Backend } from './tables.ts';
import type { StoreUrl } from './url.ts';

/** What a backend needs of a logger; pino's is one. */
export interface BackendLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What a backend is given besides its URL. */
export interface BackendContext {
  readonly logger: BackendLogger;
}

/** What a backend folder's `index.ts` exports. */
export interface BackendModule {
  /** Checks the URL and keeps it; no I/O before `open`. Throws MISCONFIGURED. */
  create(url: StoreUrl, context: BackendContext): Backend;
}

const ignore = () => {};
export const silentLogger: BackendLogger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
