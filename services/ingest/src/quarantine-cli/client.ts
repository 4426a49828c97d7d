import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliveryDocument, QuarantineDocument, QuarantineStepDocument } from '@tidegauge/readings';
import { fetchFor } from '@tidegauge/service';

/** Ingest answers a replay within its own bound of some seconds. */
const TIMEOUT_MS = 60_000;
/** How long a call is repeated while ingest answers that it is busy. */
const PATIENCE_MS = 30_000;
/** Items of one page. */
const PAGE = 1000;

/** What the port of ingest answers to `GET /quarantine`. */
interface Page {
  readonly items: readonly QuarantineDocument[];
  readonly next: string | null;
}

/** The quarantine of one running ingest process, over its HTTP port. All calls reject with a readable error. */
export class QuarantineClient {
  readonly #url: string;
  readonly #token: string | null;

  /** @param url `http://host:port` of ingest, or of a proxy with a path */
  constructor(url: string, token: string | null) {
    this.#url = url.replace(/\/$/, '');
    this.#token = token;
  }

  /** All items with this reason (null: any), newest first, page by page. */
  async *items(reason: string | null, after: string | null = null): AsyncGenerator<QuarantineDocument> {
    for (let next = after; ; ) {
      const page = await this.#send<Page>(
        'GET',
        `/quarantine${query({ limit: `${PAGE}`, reason, after: next })}`,
      );
      yield* page.items;
      if (page.next === null) return;
      next = page.next;
    }
  }

  /** One item with its payload in base64. */
  item(id: string): Promise<QuarantineDocument> {
    return this.#send('GET', `/quarantine/${encodeURIComponent(id)}`);
  }

  /**
   * Sends an item through its route again. Ingest removes it when the store has acknowledged its readings. If it
   * cannot be decoded, it stays, and `quarantined` is 1.
   */
  replay(id: string): Promise<DeliveryDocument> {
    return this.#send('POST', `/quarantine/${encodeURIComponent(id)}/replay`);
  }

  discard(id: string): Promise<void> {
    return this.#send('DELETE', `/quarantine/${encodeURIComponent(id)}`);
  }

  /** One step of a replay or discard of all items with this reason; null: of any. */
  step(
    action: 'replay' | 'discard',
    reason: string | null,
    cursor: string | null,
  ): Promise<QuarantineStepDocument> {
    return this.#send('POST', `/quarantine/${action}${query({ reason, cursor })}`);
  }

  async #send<T>(method: string, path: string): Promise<T> {
    const headers = this.#token === null ? {} : { Authorization: `Bearer ${this.#token}` };
    const begun = performance.now();
    const call = () =>
      fetchFor('reach the quarantine of ingest', this.#url + path, {
        method,
        headers,
        timeoutMs: TIMEOUT_MS,
      });
    let response = await call().catch((error: Error) => {
      throw new Error(`${error.message}: start ingest, or set --ingest to its address`, { cause: error });
    });
    for (; response.status === 503 && performance.now() - begun < PATIENCE_MS; response = await call()) {
      await response.body?.cancel();
      await sleep(1000);
    }
    const text = await response.text();
    if (!response.ok) throw new Error(refusalOf(response.status, text, this.#url));
    if (text === '') return undefined as T;
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new Error(`${this.#url} does not answer with JSON: is it an ingest process?`);
    }
  }
}

function query(parameters: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(parameters).filter((each): each is [string, string] => each[1] !== null);
  return `?${new URLSearchParams(given)}`;
}

/** The token that `npm start` makes is printed nowhere. */
const LOGIN = 'start ingest with HTTP_TOKEN=..., and give the same text as INGEST_TOKEN';

function refusalOf(status: number, text: string, url: string): string {
  if (status === 401 || status === 403) return `ingest at ${url} refused the login: ${LOGIN}`;
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === 'string') return `ingest at ${url}: ${detail}`;
  } catch {
    // Not a problem document, for example the page of a proxy.
  }
  return `ingest at ${url} answered ${status}`;
}
