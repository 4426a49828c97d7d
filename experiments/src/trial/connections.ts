import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { openStore, type Store } from '@tidegauge/storage';
import type { DriverRequest } from './driver-messages.ts';
import { strongReadUrl } from './strong-reads.ts';

export type OpenRequest = Extract<DriverRequest, { readonly command: 'open' }>;

/** The connections of a driver program: to its store, and to its API when it uses one. */
export class Connections {
  /** null: the store cannot be reached without the API. */
  readonly storeUrl: string | null;
  #store: Store | null = null;
  /** null: the operations go to the store. */
  readonly api: { readonly url: string; readonly token: string | null; readonly client: HttpClient } | null;

  /** Whether the operations use a store that stays open. */
  readonly keepsStore: boolean;

  constructor({ driver, store, api, settings }: OpenRequest) {
    this.storeUrl = store;
    this.keepsStore = driver === 'raw' || driver === 'raw-again';
    // The client has a connection for each thread only.
    const client = (token: string | null) =>
      new HttpClient(settings.threads, token, { keepAlive: driver !== 'app-connect' });
    this.api = api === null ? null : { ...api, client: client(api.token) };
  }

  /** The store. It is opened at the first call, and after `closeStore`. */
  async store(): Promise<Store> {
    if (this.storeUrl === null) throw new TypeError('the driver has no STORE URL');
    this.#store ??= await openStore(this.storeUrl);
    return this.#store;
  }

  /**
   * The same store with reads from all copies, which the caller closes. null: its own reads have every acknowledged write,
   * or it cannot be reached.
   */
  async readingAll(): Promise<Store | null> {
    const url = this.storeUrl === null ? null : await strongReadUrl(this.storeUrl);
    return url === null ? null : openStore(url);
  }

  async close(): Promise<void> {
    this.api?.client.close();
    await this.closeStore();
  }

  async closeStore(): Promise<void> {
    await this.#store?.close();
    this.#store = null;
  }
}
