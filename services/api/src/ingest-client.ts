import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AlertReceiversDocument,
  type AlertRulesDocument,
  type AlertsDocument,
  type CausesDocument,
  type DeliveryDocument,
  type EntryChangedDocument,
  type ExplainDocument,
  formatTime,
  isTable,
  type LedgerDocument,
  type LinesDocument,
  type LiveLine,
  type MissingDocument,
  type PasswordsDocument,
  type QuarantineDocument,
  type QuarantineStepDocument,
  type RetentionDocument,
  type RetentionPreviewDocument,
  type RouteAddedDocument,
} from '@tidegauge/readings';
import { type ProblemDetails, SENDER_HEADER } from '@tidegauge/service';

const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** Longest accepted line of the live feed. The lines of ingest are far shorter. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
/**
 * How much the API reads of the live feeds of all replicas together, bytes of JSON: about 17,000 numbers a second.
 * Reading more would take processor time from requests. When a feed is not read, ingest omits readings and sends their
 * number.
 */
const LIVE_BYTES_PER_SECOND = 4 * 1024 * 1024;
/** After a pause, the API reads as much at once as this time allows, milliseconds. */
const LIVE_BURST_MS = 250;
const RESOLVE_EVERY_MS = 5000;
const JSON_TYPE = 'application/json';
/** Time for a request of a board, in which ingest may compare a day of its store, milliseconds. */
const RELAY_MS = 60_000;
/** Time for one step through the quarantine of ingest, in addition to the usual timeout, milliseconds. */
const STEP_MS = 5000;

/** Ingest answered with a problem, or did not answer. */
export class IngestError extends Error {
  override readonly name = 'IngestError';
  readonly details: ProblemDetails;
  /** True when nothing was sent, so that the request may go to another replica. */
  readonly refused: boolean;

  constructor(details: ProblemDetails, refused = false, options?: ErrorOptions) {
    super(details.detail, options);
    this.details = details;
    this.refused = refused;
  }
}

export interface QuarantinePage {
  readonly items: readonly QuarantineDocument[];
  readonly next: string | null;
  readonly total: number;
  readonly reasons: Readonly<Record<string, number>>;
}

export interface QuarantineFilter {
  readonly reason?: string | undefined;
  /** Name of an ingest process. Only its messages match. */
  readonly instance?: string | undefined;
}

export interface QuarantineQuery extends QuarantineFilter {
  readonly limit: number;
  readonly after?: string | undefined;
}

export interface AlertsQuery {
  readonly limit: number;
  /** The device and those below it. */
  readonly device?: string;
  readonly state?: string;
  readonly rule?: string;
  readonly severity?: string;
  readonly after?: string;
}

interface MissingQuery {
  readonly limit: number;
  /** The device and those below it. */
  readonly device?: string;
}

export interface QuarantineStep extends QuarantineFilter {
  readonly limit: number;
  /** Messages received later are left out. */
  readonly until?: string | undefined;
  readonly cursor?: string | undefined;
}

/** An ingest process that did not answer. */
export interface Unreachable {
  readonly instance: string;
  readonly reason: string;
}

/** The answers of the replicas. A replica that does not answer is in `unreachable`, and the others still count. */
export interface Answers<T> {
  readonly answers: readonly { readonly url: string; readonly value: T }[];
  readonly unreachable: readonly Unreachable[];
}

/** What a request sends. */
interface Content {
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly sender?: string;
}

/** The body of an HTTP request with readings, forwarded to ingest unchanged. */
export interface Delivery {
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly device?: string | undefined;
  readonly metric?: string | undefined;
  /** For whom it is sent, as `senderOf` names the client. */
  readonly sender: string;
}

/** Line protocol of an HTTP request, decompressed. */
export interface Lines {
  readonly body: Uint8Array;
  readonly database: string;
  readonly precision: string;
  /** The device that the sender is limited to; null without a limit. */
  readonly device: string | null;
  /** Whether nothing is stored when one line is malformed. */
  readonly whole: boolean;
  /** For whom it is sent, as `senderOf` names the client. */
  readonly sender: string;
}

/** A request of a board, decompressed. */
export interface Relayed {
  readonly body: Uint8Array;
  /** The device that the sender is limited to; null without a limit. */
  readonly device: string | null;
  /** For whom it is sent, as `senderOf` names the client. */
  readonly sender: string;
}

export interface IngestClientOptions {
  /** Base URLs. A host that begins with `tasks.` (Docker Swarm) stands for every address that it resolves to. */
  readonly urls: readonly string[];
  /** Timeout of one call, milliseconds. */
  readonly timeoutMs: number;
  /** Sent with every request. */
  readonly token?: string;
  /** A live feed fails when it sends nothing for this long, milliseconds. Ingest sends a heartbeat every 15 s. */
  readonly silenceMs?: number;
  /** How much is read of all live feeds together, bytes per second. Default: 4 MiB. */
  readonly liveBytesPerSecond?: number;
  /** Resolves a host name to addresses. Default: the resolver of the system. */
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>;
}

/** A client of the HTTP ports of the ingest processes. It merges the answers of the replicas. */
export class IngestClient {
  readonly #options: IngestClientOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, maxFreeSockets: 8, timeout: 60_000 });
  readonly #resolved = new Map<string, { readonly at: number; readonly urls: readonly string[] }>();
  #turn = 0;
  /** The time at which the live feeds may be read again, from `performance.now()`. */
  #liveAt = 0;

  constructor(options: IngestClientOptions) {
    this.#options = options;
  }

  /** Base URLs of the current replicas, sorted. */
  async targets(): Promise<readonly string[]> {
    const groups = await Promise.all(this.#options.urls.map((url) => this.#expand(url)));
    return [...new Set(groups.flat())].sort();
  }

  /** Every replica's ledger. @throws {IngestError} 503 when none answers. */
  ledgers(): Promise<Answers<LedgerDocument>> {
    return this.#askAll((url) => this.#json<LedgerDocument>(url, 'GET', '/ledger'));
  }

  /** Every replica's missing readings. @throws {IngestError} 503 when none answers. */
  missing({ limit, ...query }: MissingQuery): Promise<Answers<MissingDocument>> {
    const path = `/ledger/missing${search({ limit: String(limit), ...query })}`;
    return this.#askAll((url) => this.#json<MissingDocument>(url, 'GET', path));
  }

  /** The first page of every replica's quarantine. @throws {IngestError} 503 when none answers. */
  quarantines(query: QuarantineQuery): Promise<Answers<QuarantinePage>> {
    return this.#askAll((url) => this.quarantine(url, query));
  }

  /** A page of one replica's quarantine. @throws {IngestError} */
  quarantine(url: string, query: QuarantineQuery): Promise<QuarantinePage> {
    const { limit, ...rest } = query;
    return this.#json(url, 'GET', `/quarantine${search({ limit: String(limit), ...rest })}`);
  }

  quarantined(id: string): Promise<QuarantineDocument> {
    return this.#askOwner((url) => this.#json(url, 'GET', `/quarantine/${encodeURIComponent(id)}`));
  }

  replay(id: string): Promise<DeliveryDocument> {
    return this.#askOwner((url) => this.#json(url, 'POST', `/quarantine/${encodeURIComponent(id)}/replay`));
  }

  discard(id: string): Promise<void> {
    return this.#askOwner((url) => this.#json(url, 'DELETE', `/quarantine/${encodeURIComponent(id)}`));
  }

  /** Replays or discards some of one replica's messages, in bounded time. @throws {IngestError} */
  step(url: string, verb: 'replay' | 'discard', query: QuarantineStep): Promise<QuarantineStepDocument> {
    const { limit, ...rest } = query;
    const path = `/quarantine/${verb}${search({ limit: String(limit), ...rest })}`;
    const patienceMs = this.#options.timeoutMs + STEP_MS;
    return this.#json(url, 'POST', path, null, patienceMs);
  }

  /**
   * Sends a body to one replica; replicas take turns. When a connection is refused, the body goes to the next replica.
   *
   * @throws {IngestError}
   */
  deliver(delivery: Delivery): Promise<DeliveryDocument> {
    const { device, metric } = delivery;
    return this.#give(`/readings${search({ device, metric })}`, delivery);
  }

  /** Sends line protocol to one replica, like `deliver`. @throws {IngestError} */
  lines({ body, database, precision, device, whole, sender }: Lines): Promise<LinesDocument> {
    const path = `/lines${search({ db: database, precision, device: device ?? undefined, whole: whole ? 'true' : undefined })}`;
    return this.#give(path, { body, contentType: 'text/plain; charset=utf-8', sender });
  }

  /** Sends a request of a board to one replica, like `deliver`. @throws {IngestError} */
  relay({ body, device, sender }: Relayed): Promise<object> {
    const path = `/relay${search({ device: device ?? undefined })}`;
    return this.#give(path, { body, contentType: 'application/x-ndjson', sender }, RELAY_MS);
  }

  /**
   * Has the replicas that relay compare a device with their centres on the days of [from, to), microseconds: what the API
   * writes itself is not relayed otherwise. Does not reject, because the daily comparison finds recent changes too.
   */
  async compareRelay(device: string, from: number, to: number): Promise<void> {
    const days = { from: formatTime(from).slice(0, 10), to: formatTime(to - 1).slice(0, 10) };
    const path = `/relay/compare${search({ device, ...days })}`;
    await this.#askAll((url) => this.#json<object>(url, 'POST', path)).catch(() => {});
  }

  /** Every replica's centres and boards. @throws {IngestError} 503 when none answers. */
  relays(): Promise<Answers<object>> {
    return this.#askAll((url) => this.#json<object>(url, 'GET', '/relay'));
  }

  /** What becomes of a message, by one replica: `POST /explain`. @throws {IngestError} */
  explain(request: object, sender: string): Promise<ExplainDocument> {
    const body = Buffer.from(JSON.stringify(request));
    return this.#give('/explain', { body, contentType: JSON_TYPE, sender });
  }

  /** Every replica's quarantine by cause. @throws {IngestError} 503 when none answers. */
  causes(): Promise<Answers<CausesDocument>> {
    return this.#askAll((url) => this.#json<CausesDocument>(url, 'GET', '/quarantine/causes'));
  }

  /** Every replica's alerts. One of them evaluates the rules. @throws {IngestError} 503 when none answers. */
  alerts({ limit, ...query }: AlertsQuery): Promise<Answers<AlertsDocument>> {
    const path = `/alerts${search({ limit: String(limit), ...query })}`;
    return this.#askAll((url) => this.#json<AlertsDocument>(url, 'GET', path));
  }

  /**
   * Adds a route to the routes file of every replica, one after the other, because they can share the file.
   *
   * @throws {IngestError} when no replica added it
   */
  addRoute(route: object): Promise<Answers<RouteAddedDocument>> {
    return this.#change('POST', '/routes', { route });
  }

  /** The alert rules of every replica, which have the same file. @throws {IngestError} 503 when none answers. */
  alertRules(): Promise<Answers<AlertRulesDocument>> {
    return this.#askAll((url) => this.#json<AlertRulesDocument>(url, 'GET', '/alerts/rules'));
  }

  /** The receivers of messages about alerts of every replica. @throws {IngestError} 503 when none answers. */
  alertReceivers(): Promise<Answers<AlertReceiversDocument>> {
    return this.#askAll((url) => this.#json<AlertReceiversDocument>(url, 'GET', '/alerts/receivers'));
  }

  /**
   * Puts an entry into a file of every replica, or removes it when `entry` is null.
   *
   * @throws {IngestError} when no replica did it
   */
  changeEntry(
    list: 'rules' | 'receivers',
    name: string,
    entry: object | null,
  ): Promise<Answers<EntryChangedDocument>> {
    const path = `/alerts/${list}/${encodeURIComponent(name)}`;
    return this.#change(entry === null ? 'DELETE' : 'PUT', path, entry);
  }

  /** The retention of every replica. @throws {IngestError} 503 when none answers. */
  retention(): Promise<Answers<RetentionDocument>> {
    return this.#askAll((url) => this.#json<RetentionDocument>(url, 'GET', '/retention'));
  }

  /** Replaces the rules of retention in the file of every replica. @throws {IngestError} when no replica did it */
  setRetention(rules: object): Promise<Answers<RetentionDocument>> {
    return this.#change('PUT', '/retention', rules);
  }

  /** What rules would delete now, by one replica. @throws {IngestError} */
  previewRetention(rules: object, sender: string): Promise<RetentionPreviewDocument> {
    const body = Buffer.from(JSON.stringify(rules));
    const patienceMs = this.#options.timeoutMs + STEP_MS;
    return this.#give('/retention/preview', { body, contentType: JSON_TYPE, sender }, patienceMs);
  }

  /** The logins of sensors in the file of every replica. @throws {IngestError} 503 when none answers. */
  passwords(): Promise<Answers<PasswordsDocument>> {
    return this.#askAll((url) => this.#json<PasswordsDocument>(url, 'GET', '/passwords'));
  }

  /**
   * Sets the password of a sensor in the file of every replica.
   *
   * @param login `replace` allows to change the password of an existing login
   * @throws {IngestError} when no replica did it
   */
  setPassword(login: {
    readonly user: string;
    readonly password: string;
    readonly replace: boolean;
  }): Promise<Answers<EntryChangedDocument>> {
    return this.#change('POST', '/passwords', login);
  }

  /** Removes the login of a sensor from the file of every replica. @throws {IngestError} when no replica did it */
  removePassword(user: string): Promise<Answers<EntryChangedDocument>> {
    return this.#change('DELETE', `/passwords${search({ user })}`, null);
  }

  /** One replica sends a test message to a receiver. @throws {IngestError} 502 when it does not arrive */
  testReceiver(name: string): Promise<void> {
    return this.#give(`/alerts/receivers/${encodeURIComponent(name)}/test`, null);
  }

  /** Changes a file of every replica, one after the other, because they can share the file. */
  #change<T>(method: string, path: string, sent: object | null): Promise<Answers<T>> {
    const content =
      sent === null ? null : { body: Buffer.from(JSON.stringify(sent)), contentType: JSON_TYPE };
    let last: Promise<unknown> = Promise.resolve();
    return this.#askAll((url) => {
      const next = last.then(() => this.#json<T>(url, method, path, content));
      last = next.catch(() => {});
      return next;
    });
  }

  async #give<T>(path: string, content: Content | null, patienceMs?: number): Promise<T> {
    const targets = await this.targets();
    const first = this.#turn++;
    let last: unknown = noTargets(this.#options.urls);
    for (let n = 0; n < targets.length; n++) {
      const url = targets[(first + n) % targets.length]!;
      try {
        return await this.#json(url, 'POST', path, content, patienceMs);
      } catch (error) {
        if (!(error instanceof IngestError && error.refused)) throw error;
        last = error;
      }
    }
    throw last;
  }

  /** The lines of one replica's live feed, until it ends, fails or sends nothing for too long. @throws {IngestError} */
  async *live(url: string, signal: AbortSignal): AsyncGenerator<LiveLine> {
    const response = await this.#send(url, 'GET', '/live', signal);
    response.setTimeout(this.#options.silenceMs ?? 40_000, () => {
      response.destroy(unreachable(url, 'the live feed sent nothing for too long'));
    });
    if (response.statusCode !== 200) throw await problemOf(url, response);
    const decoder = new StringDecoder('utf8');
    // Joined when the line is complete. Joining them earlier would copy a long line once for each of its pieces.
    let pieces: string[] = [];
    let length = 0;
    try {
      for await (const chunk of response) {
        const [first, ...others] = decoder.write(chunk as Buffer).split('\n');
        pieces.push(first!);
        length += first!.length;
        await this.#pace((chunk as Buffer).length, signal);
        for (const other of others) {
          const line = pieces.join('');
          pieces = [other];
          length = other.length;
          if (line !== '') yield readLine(url, line);
        }
        if (length > MAX_LINE_BYTES) throw unreachable(url, 'a line of the live feed is too long');
      }
    } finally {
      response.destroy();
    }
  }

  /** Waits until more of the live feeds may be read. Unread data stay in the connections, which slows the senders. */
  async #pace(bytes: number, signal: AbortSignal): Promise<void> {
    const rate = this.#options.liveBytesPerSecond ?? LIVE_BYTES_PER_SECOND;
    const now = performance.now();
    this.#liveAt = Math.max(this.#liveAt, now - LIVE_BURST_MS) + (bytes / rate) * 1000;
    if (this.#liveAt > now) await sleep(this.#liveAt - now, undefined, { signal, ref: false });
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy();
  }

  async #expand(base: string): Promise<readonly string[]> {
    const url = URL.parse(base);
    if (url === null) throw unreachable(base, 'its URL cannot be read: write http://host:port');
    if (!url.hostname.startsWith('tasks.')) return [url.origin];
    const known = this.#resolved.get(base);
    if (known !== undefined && performance.now() - known.at < RESOLVE_EVERY_MS) return known.urls;
    const resolve = this.#options.resolve ?? ((host) => lookup(host, { all: true }));
    const urls = await resolve(url.hostname).then(
      (found) =>
        found.map(({ address, family }) => `http://${family === 6 ? `[${address}]` : address}:${url.port}`),
      // When the resolver fails, the replicas that it found before may still answer.
      () => known?.urls ?? [url.origin],
    );
    this.#resolved.set(base, { at: performance.now(), urls });
    return urls;
  }

  async #askAll<T>(ask: (url: string) => Promise<T>): Promise<Answers<T>> {
    const targets = await this.targets();
    const results = await Promise.allSettled(targets.map(ask));
    const answers: { url: string; value: T }[] = [];
    const unreachable: Unreachable[] = [];
    for (const [index, result] of results.entries()) {
      const url = targets[index]!;
      if (result.status === 'fulfilled') answers.push({ url, value: result.value });
      else unreachable.push({ instance: url, reason: String(result.reason?.message ?? result.reason) });
    }
    if (answers.length === 0) throw rejection(results) ?? noTargets(this.#options.urls);
    return { answers, unreachable };
  }

  /** Calls the replicas one after the other until one has the item. Only one replica has it; the others answer 404. */
  async #askOwner<T>(ask: (url: string) => Promise<T>): Promise<T> {
    let missing: unknown = null;
    let failed: unknown = null;
    for (const url of await this.targets()) {
      try {
        return await ask(url);
      } catch (error) {
        if (error instanceof IngestError && error.details.status === 404) missing = error;
        else failed = error;
      }
    }
    throw failed ?? missing ?? noTargets(this.#options.urls);
  }

  async #json<T>(
    url: string,
    method: string,
    path: string,
    content: Content | null = null,
    patienceMs = this.#options.timeoutMs,
  ): Promise<T> {
    const signal = AbortSignal.timeout(patienceMs);
    const response = await this.#send(url, method, path, signal, content, patienceMs);
    if (response.statusCode! >= 300) throw await problemOf(url, response);
    const text = await readText(url, response);
    if (text === '') return undefined as T;
    const document = parseJson(text);
    if (isTable(document)) return document as T;
    throw unreachable(url, 'its answer is not a JSON object: is it an ingest process?');
  }

  #send(
    url: string,
    method: string,
    path: string,
    signal: AbortSignal,
    content: Content | null = null,
    patienceMs = this.#options.timeoutMs,
  ): Promise<IncomingMessage> {
    const headers: Record<string, string | number> = {};
    if (this.#options.token !== undefined) headers.Authorization = `Bearer ${this.#options.token}`;
    if (content !== null) {
      headers['Content-Length'] = content.body.length;
      headers['Content-Type'] = content.contentType;
      if (content.sender !== undefined) headers[SENDER_HEADER] = content.sender;
    }
    return new Promise((resolve, reject) => {
      const sent = request(url + path, { method, headers, agent: this.#agent, signal }, resolve);
      sent.on('error', (error: NodeJS.ErrnoException) => {
        if (error.name === 'AbortError') {
          reject(timedOut(url, patienceMs, error));
        } else {
          // `connect` and name resolution fail before a byte is sent.
          const refused = error.syscall === 'connect' || error.syscall === 'getaddrinfo';
          reject(unreachable(url, error.message || String(error.code), error, refused));
        }
      });
      sent.end(content?.body);
    });
  }
}

/** Checks a line like any other input: with a wrong URL, it can come from any server. */
function readLine(url: string, text: string): LiveLine {
  const line = parseJson(text);
  if (isTable(line) && typeof line.id === 'string') {
    const { readings, missed } = line;
    if (readings === undefined && Number.isSafeInteger(missed) && (missed as number) >= 0) {
      return line as unknown as LiveLine;
    }
    if (Array.isArray(readings) && readings.every(isReading)) return line as unknown as LiveLine;
  }
  throw unreachable(url, 'a line of the live feed cannot be read: is it an ingest process?');
}

function isReading(value: unknown): boolean {
  if (!isTable(value)) return false;
  const { device, metric, time } = value;
  return typeof device === 'string' && typeof metric === 'string' && typeof time === 'string';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function search(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

async function readText(url: string, response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      size += (chunk as Buffer).length;
      if (size > MAX_ANSWER_BYTES) throw new Error(`its answer is longer than ${MAX_ANSWER_BYTES} bytes`);
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    throw unreachable(url, (error as Error).message, error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The error for a refused request. A problem document of ingest is passed on to the client. */
async function problemOf(url: string, response: IncomingMessage): Promise<IngestError> {
  const status = response.statusCode!;
  const text = await readText(url, response);
  const retryAfter = Number(response.headers['retry-after']);
  const more = Number.isFinite(retryAfter) && retryAfter > 0 ? { retryAfter } : {};
  try {
    const { title, detail } = JSON.parse(text) as Partial<ProblemDetails>;
    if (typeof title === 'string' && typeof detail === 'string') {
      return new IngestError({ status, title, detail, ...more });
    }
  } catch {
    // Not a problem document, for example the page of a proxy. Only the status is known.
  }
  return new IngestError({
    status: status === 404 ? 404 : 502,
    title: 'Ingest failed',
    detail: `ingest at ${url} answered ${status}`,
    ...more,
  });
}

function unreachable(url: string, why: string, cause?: unknown, refused = false): IngestError {
  return new IngestError(
    { status: 503, title: 'Ingest unavailable', detail: `ingest at ${url}: ${why}`, retryAfter: 5 },
    refused,
    { cause },
  );
}

function timedOut(url: string, timeoutMs: number, cause: unknown): IngestError {
  const detail = `ingest at ${url}: no answer within ${timeoutMs} ms`;
  return new IngestError({ status: 504, title: 'Ingest did not answer in time', detail }, false, { cause });
}

function noTargets(urls: readonly string[]): IngestError {
  return unreachable(urls.join(', '), 'the name resolves to no address', undefined, true);
}

function rejection(results: readonly PromiseSettledResult<unknown>[]): unknown {
  return results.find((result) => result.status === 'rejected')?.reason ?? null;
}
