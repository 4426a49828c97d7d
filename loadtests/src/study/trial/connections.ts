import { openStore, type Store } from '@tidegauge/storage';
import { HttpClient } from '../../drivers/http-client.ts';
import type { DriverRequest } from './driver-messages.ts';

export type OpenRequest = Extract<DriverRequest, { readonly command: 'open' }>;

/** The connections of a driver program: to its store, and to its API when it uses one. */
export class Connections {
  readonly #storeUrl: string | null;
  #store: Store | null = null;
  /** null: the operations go to the store. */
  readonly api: { readonly url: string; readonly token: string | null; readonly client: HttpClient } | null;

  constructor({ store, api, settings }: OpenRequest) {
    this.#storeUrl = store;
    // The client has a connection for each thread only.
    this.api = api === null ? null : { ...api, client: new HttpClient(settings.threads, api.token) };
  }

  /** Whether the store can be reached without the API. */
  get hasStore(): boolean {
    return this.#storeUrl !== null;
  }

  /** The store. It is opened at the first call, and after `closeStore`. */
  async store(): Promise<Store> {
    if (this.#storeUrl === null) throw new TypeError('the driver has no STORE URL');
    this.#store ??= await openStore(this.#storeUrl);
    return this.#store;
  }

  async closeStore(): Promise<void> {
    await this.#store?.close();
    this.#store = null;
  }
}
