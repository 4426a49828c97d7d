import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Board } from '@tidegauge/lab/docker/boards';
import type { LedgerDocument, ReadingDocument } from '@tidegauge/readings';
import { type Place, prepare, StackDeployment, type StackOptions } from '../src/stack-deployment.ts';
import { askApi } from './api.ts';
import { quickStack } from './quick-stack.ts';

/** Images are copied from board to board. */
const LINE_MS = 300_000;

/** A deployed stack, with its sensors and its API. */
export class Deployment extends StackDeployment {
  #token: string | null = null;

  /**
   * Loads images, creates directories, labels and secrets, deploys with the times of `quickStack`, and waits until all
   * tasks are healthy. The first board is a manager.
   */
  static async start(store: string, places: readonly Place[], options: StackOptions = {}) {
    const env = await prepare(store, places, options);
    const quick = join(places[0]!.board.disk, 'quick.yml');
    writeFileSync(quick, quickStack(store, ...(options.parts ?? [])));
    const withQuick = { ...options, options: ['-c', quick, ...(options.options ?? [])] };
    const deployment = new Deployment(places, store, withQuick, env);
    await deployment.deploy();
    return deployment;
  }

  /** Adds a user of the broker. Resolves to its password and the address of the broker. */
  async addSensor(broker: Board, name: string): Promise<SensorOptions> {
    const password = await broker.run(['stacks/bin/sensor', 'add', name], { env: this.env });
    const ca = await this.authority();
    return { name, password, ca, address: broker.address };
  }

  /** Runs a command line on a board, with the variables of the deployment and further ones. Resolves to its output. */
  shell(board: Board, line: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    return board.run(['sh', '-euc', line], { env: { ...this.env, ...env }, timeoutMs: LINE_MS });
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
