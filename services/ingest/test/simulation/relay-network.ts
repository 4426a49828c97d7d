import { Problem } from '@tidegauge/service';
import type { Random } from '@tidegauge/workload';
import type { IngestProcess } from './ingest-process.ts';
import type { Owner, VirtualTime } from './virtual-time.ts';

/** The longest time of a request, and of its answer, milliseconds. */
const REQUEST_MS = 30;

/** A request that was sent and not answered. */
interface Request {
  readonly owner: Owner;
  readonly body: Buffer;
  readonly resolve: (response: Response) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening. Node keeps a signal of several, and all that its listeners refer to, as long as it has one. */
  readonly leave: () => void;
  /** Whether the centre has received it. */
  hasArrived: boolean;
}

/**
 * The network between boards and their centre. It can be down, and lose requests and answers. Requests of a board that was killed
 * can still arrive.
 */
export class RelayNetwork {
  isDown = false;
  /** The share of requests without an answer. */
  unknown = 0;
  /** Boards whose process has been killed: its further requests do not arrive. */
  readonly frozen = new Set<Owner>();
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #centre: () => IngestProcess | null;
  readonly #requests = new Set<Request>();

  /** @param centre the process that takes requests now; null: none runs */
  constructor(time: VirtualTime, random: Random, centre: () => IngestProcess | null) {
    this.#time = time;
    this.#random = random;
    this.#centre = centre;
  }

  /** Answers as the function of Node does. */
  readonly fetch = (_url: string, { body, signal }: RequestInit): Promise<Response> => {
    const { owner } = this.#time;
    if (this.frozen.has(owner)) return new Promise(() => {});
    if (signal!.aborted) return Promise.reject(signal!.reason);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#abandon(request);
        reject(signal!.reason);
      };
      const leave = () => signal!.removeEventListener('abort', onAbort);
      const request = { owner, body: body as Buffer, resolve, reject, leave, hasArrived: false };
      this.#requests.add(request);
      signal!.addEventListener('abort', onAbort);
      this.#later('request', () => this.#arrive(request));
    });
  };

  /** A process has ended, and its connections with it. */
  endProcess(ended: Owner): void {
    for (const request of this.#requests) {
      if (request.owner === ended) this.#abandon(request);
      else if (ended === 'centre' && request.hasArrived) this.#fail(request);
    }
    this.frozen.delete(ended);
  }

  /** Ends all requests. */
  close(): void {
    for (const request of this.#requests) this.#end(request);
  }

  #arrive(request: Request): void {
    if (!this.#requests.has(request)) return;
    const isUnknown = this.#random.double() < this.unknown;
    // The sender waits as long as it does for any answer.
    if (isUnknown && this.#random.below(2) === 0) return;
    const centre = this.#centre();
    if (this.isDown || centre === null || centre.isStopping) {
      this.#refuse(request);
      return;
    }
    request.hasArrived = true;
    void this.#take(centre, request).then((response) => {
      if (centre.isKilled) return;
      if (isUnknown) this.#fail(request);
      else this.#later('response', () => this.#answer(request, response));
    });
  }

  /** There is no centre, or something before it answers. */
  #refuse(request: Request): void {
    if (this.#random.below(2) === 0) this.#fail(request);
    else this.#answer(request, responseOf(503, {}));
  }

  async #take(centre: IngestProcess, { body }: Request): Promise<Response> {
    try {
      return responseOf(202, await this.#time.runAs('centre', () => centre.takeRelayed(body)));
    } catch (error) {
      if (error instanceof Problem) return responseOf(error.details.status, {});
      throw error;
    }
  }

  #answer(request: Request, response: Response): void {
    if (this.#end(request)) request.resolve(response);
  }

  #fail(request: Request): void {
    if (this.#end(request)) request.reject(new TypeError('fetch failed'));
  }

  /** Nobody waits for the answer. The request can still arrive. */
  #abandon(request: Request): void {
    const centre = this.#centre();
    const isSent = this.#end(request) && !request.hasArrived;
    if (!isSent || this.isDown || centre === null || centre.isStopping || this.#random.below(2) === 0) return;
    this.#later('request', () => {
      if (!centre.isKilled && !centre.isStopping) void this.#take(centre, request);
    });
  }

  /** Returns whether somebody waited for its answer. */
  #end(request: Request): boolean {
    request.leave();
    return this.#requests.delete(request);
  }

  #later(what: string, run: () => void): void {
    this.#time.after(this.#random.double() * REQUEST_MS, 'world', what, run);
  }
}

/** What callers use of an answer. */
function responseOf(status: number, document: object): Response {
  return { status, headers: {}, body: [Buffer.from(JSON.stringify(document))] } as unknown as Response;
}
