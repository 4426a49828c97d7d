import assert from 'node:assert/strict';
import { DAY_US, DeviceDigest } from '@tidegauge/copy';
import { DecodeError, type Reading } from '@tidegauge/readings';
import { compareText } from '@tidegauge/storage';
import type { Random } from '@tidegauge/workload';
import { type DayOfDevice, type RelayAnswer, readRelayRequest } from '../../src/relay/relay-message.ts';
import { decodeRelayed } from '../../src/relay/relayed-lines.ts';
import { identityOf } from './model-store.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The longest time of a request and its answer, milliseconds. */
const REQUEST_MS = 30;

/** A request that was sent and not answered. */
interface Request {
  readonly body: Buffer;
  readonly resolve: (response: Response) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The centre to which ingest relays, and the network between them. It has no defects and loses nothing. It can be unavailable,
 * and give no answer for a request, whether it took it or not.
 */
export class Centre {
  /** By identity. */
  readonly rows = new Map<string, Reading>();
  isUnavailable = false;
  /** The share of requests without an answer. */
  unknown = 0;
  /** The process has been killed: its further requests do not arrive. */
  isFrozen = false;
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #requests = new Set<Request>();

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  /** Answers as the function of Node does. */
  readonly fetch = (_url: string, { body, signal }: RequestInit): Promise<Response> => {
    if (this.isFrozen) return new Promise(() => {});
    if (signal!.aborted) return Promise.reject(signal!.reason);
    return new Promise((resolve, reject) => {
      const request = { body: body as Buffer, resolve, reject };
      this.#requests.add(request);
      signal!.addEventListener('abort', () => {
        this.#end(request);
        reject(signal!.reason);
      });
      const ms = this.#random.double() * REQUEST_MS;
      this.#time.after(ms, 'process', 'request', () => this.#arrive(request));
    });
  };

  /** The process has ended: some of the requests on their way still arrive. */
  endProcess(): void {
    for (const request of this.#requests) this.#end(request);
    this.isFrozen = false;
  }

  #arrive(request: Request): void {
    if (!this.#requests.has(request)) return;
    const isUnknown = this.#random.double() < this.unknown;
    // The sender waits as long as it does for any answer.
    if (isUnknown && this.#random.below(2) === 0) return;
    if (isUnknown) this.#end(request);
    this.#requests.delete(request);
    if (!isUnknown && !this.isUnavailable) request.resolve(responseOf(200, this.#take(request)));
    else if (isUnknown || this.#random.below(2) === 0) request.reject(new TypeError('fetch failed'));
    else request.resolve(responseOf(503, {}));
  }

  /** Ends a connection: the request arrived, or it did not. */
  #end(request: Request): void {
    const isOpen = this.#requests.delete(request);
    if (isOpen && !this.isUnavailable && this.#random.below(2) === 0) this.#take(request);
  }

  #take({ body }: Request): RelayAnswer {
    const { header, payload } = readRelayRequest(body);
    const readings = decodeRelayed(payload);
    assert.ok(!(readings instanceof DecodeError), 'the centre cannot decode a request');
    let duplicate = 0;
    for (const reading of readings) {
      const identity = identityOf(reading);
      if (this.rows.get(identity)?.value === reading.value) duplicate++;
      this.rows.set(identity, reading);
    }
    return {
      received: readings.length,
      stored: readings.length - duplicate,
      duplicate,
      quarantined: 0,
      refused: 0,
      refusedDevices: [],
      centre: 'centre',
      beyond: [],
      compared: header.compare === null ? null : this.#compare(header.compare),
    };
  }

  #compare({ device, day, until, count, digest }: DayOfDevice): RelayAnswer['compared'] {
    const end = Math.min((day + 1) * DAY_US, until);
    const found = [...this.rows.values()]
      .filter((row) => row.device === device && row.time >= day * DAY_US && row.time < end)
      .toSorted((a, b) => compareText(a.metric, b.metric) || a.time - b.time);
    const own = new DeviceDigest();
    for (const reading of found) own.add({ ...reading, received: 0 });
    const ownDigest = own.days().get(day)?.digest.toString('hex') ?? '';
    return { isEqual: found.length === count && ownDigest === digest, count: found.length };
  }
}

/** What callers use of an answer. */
function responseOf(status: number, document: object): Response {
  return { status, headers: {}, body: [Buffer.from(JSON.stringify(document))] } as unknown as Response;
}
