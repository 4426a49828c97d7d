import type { Board } from '@tidegauge/lab/docker/boards';
import type { LedgerDocument, ReadingDocument } from '@tidegauge/readings';
import { type Place, prepare, StackDeployment } from '../src/stack-deployment.ts';
import { askApi } from './api.ts';

/** A deployed stack, with its sensors and its API. */
export class Deployment extends StackDeployment {
  #token: string | null = null;

  /** Loads images, creates directories, labels and secrets, and deploys. The first board is a manager. */
  static async start(store: string, places: readonly Place[], more: Readonly<Record<string, string>> = {}) {
    const env = await prepare(store, places, { env: more });
    const deployment = new Deployment(places, store, {}, env);
    await deployment.deploy();
    return deployment;
  }

  /** Adds a user of the broker. Resolves to its password and the address of the broker. */
  async addSensor(broker: Board, name: string): Promise<SensorOptions> {
    const password = await broker.run(['stacks/bin/sensor', 'add', name], { env: this.env });
    const ca = await this.authority();
    return { name, password, ca, address: broker.address };
  }

  /** The answer of the API, on the board where it runs. */
  async ask<T>(path: string): Promise<T> {
    const [board] = await this.placesOf('api');
    if (board === undefined) throw new Error('the API runs nowhere');
    const headers = { authorization: `Bearer ${await this.#apiToken(board)}` };
    return (await askApi(board.address, await this.authority(), path, { headers })) as T;
  }

  /** The administrator's token of the API, which Docker gives to its container only. */
  async #apiToken(board: Board): Promise<string> {
    this.#token ??= await board.docker([
      'exec',
      await this.healthy('api', board),
      'cat',
      '/run/secrets/api_token',
    ]);
    return this.#token;
  }

  ledger(): Promise<LedgerDocument> {
    return this.ask('/v1/ledger');
  }

  /** Every stored reading of a device. */
  async readings(device: string): Promise<ReadingDocument[]> {
    const found: ReadingDocument[] = [];
    let cursor = '';
    for (;;) {
      const page = await this.ask<{ readings: ReadingDocument[]; next: string | null }>(
        `/v1/readings?device=${device}&limit=10000${cursor}`,
      );
      found.push(...page.readings);
      if (page.next === null) return found;
      cursor = `&cursor=${encodeURIComponent(page.next)}`;
    }
  }
}

/** How a sensor reaches the broker. */
export interface SensorOptions {
  readonly name: string;
  readonly password: string;
  /** The authority's certificate, PEM. */
  readonly ca: string;
  readonly address: string;
}
