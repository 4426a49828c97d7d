import type { Method } from './codec.ts';
import type { Answer } from './connection.ts';
import type { Deadline } from './deadline.ts';
import type { HBaseError } from './errors.ts';
import type { Locations } from './locations.ts';
import type { NameBytesPair } from './messages.ts';
import type { Region } from './region.ts';
import type { Pauses } from './retry.ts';
import type { Servers } from './servers.ts';

/** The part of a cluster that calls on rows use. */
export interface Caller {
  readonly servers: Servers;
  readonly locations: Locations;
  readonly pauses: Pauses;
  /** A deadline `ms` from now, or `overall` if that is earlier. */
  deadline(ms: number, overall?: Deadline): Deadline;
  /** One attempt at the server that has a region. It ends within `tryTimeoutMs`. */
  callRegion<Request, Response>(
    region: Region,
    method: Method<Request, Response>,
    request: Request,
    options: { readonly deadline: Deadline; readonly cells?: Buffer | null },
  ): Promise<Answer<Response>>;
  /** Removes the cached location of a region if the error shows that the region may have moved. */
  lost(region: Region, error: unknown): void;
  /** The error for an exception that was part of an answer. */
  refusal(exception: NameBytesPair, region: Region, what: string): HBaseError;
}
