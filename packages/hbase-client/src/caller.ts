import type { Method } from './codec.ts';
import type { Answer } from './connection.ts';
import type { Deadline } from './deadline.ts';
import type { HBaseError } from './errors.ts';
import type { Locations } from './locations.ts';
import type { NameBytesPair } from './messages.ts';
import type { Region } from './region.ts';
import type { Pauses } from './retry.ts';
import type { Servers } from './servers.ts';

/** What calls on rows need of a cluster. */
export interface Caller {
  readonly servers: Servers;
  readonly locations: Locations;
  readonly pauses: Pauses;
  /** `ms` from now, or `overall` if that is sooner. */
  deadline(ms: number, overall?: Deadline): Deadline;
  /** One try at the server that has a region, which ends within the time that one try may take. */
  callRegion<Request, Response>(
    region: Region,
    method: Method<Request, Response>,
    request: Request,
    options: { readonly deadline: Deadline; readonly cells?: Buffer | null },
  ): Promise<Answer<Response>>;
  /** Forgets where a region was when a failure says that it may be elsewhere. */
  lost(region: Region, error: unknown): void;
  /** An exception that came as part of an answer. */
  refusal(exception: NameBytesPair, region: Region, what: string): HBaseError;
}
