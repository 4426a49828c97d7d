import { setTimeout as delay } from 'node:timers/promises';
import type { Board } from '@tidegauge/lab/docker/boards';
import type { LedgerDocument, ReadingDocument } from '@tidegauge/readings';
import { buildImages } from '../images/debian/build.ts';
import type { ImageName } from '../images/debian/images.ts';
import { askApi } from './api.ts';

const WAIT_MS = 240_000;
const POLL_MS = 250;
const STACK = 'tidegauge';
// The board's disk for data, in the lab.
const DATA = { TIDEGAUGE_DATA: '/mnt' };
/** The authority's directory, on the same disk. */
export const AUTHORITY = { TIDEGAUGE_AUTHORITY: '/mnt/authority' };

/** A board, its roles and its images. */
export interface Place {
  readonly board: Board;
  /** The arguments of stacks/bin/board. */
  readonly roles: readonly string[];
  readonly images: readonly ImageName[];
}

/** Calls `look` until it resolves to a truthy value, and resolves to that. Calls that reject are repeated. */
export async function until<T>(what: string, look: () => Promise<T | false | null | undefined>): Promise<T> {
  let last: unknown = 'nothing';
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; await delay(POLL_MS)) {
    try {
      const seen = await look();
      if (seen) return seen;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`waited ${WAIT_MS} ms for ${what}, last: ${last}`);
}

/** The stack with one store, on boards of a swarm, deployed as in docs/deploy.md. */
export class Deployment {
  readonly manager: Board;
  readonly boards: readonly Board[];
  readonly #store: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(places: readonly Place[], store: string, env: Readonly<Record<string, string>>) {
    this.boards = places.map(({ board }) => board);
    this.manager = this.boards[0]!;
    this.#store = store;
    this.#env = env;
  }

  /** Loads images, creates directories, labels and secrets, and deploys. The first board is a manager. */
  static async start(store: string, places: readonly Place[], more: Readonly<Record<string, string>> = {}) {
    const manager = places[0]!.board;
    const images = await Promise.all(places.map(({ board, images: names }) => buildImages(board, names)));
    for (const { board, roles } of places) {
      if (roles.length === 0) continue;
      const said = await board.run(['stacks/bin/board', ...roles], { env: DATA });
      const update = /^On a manager: docker (.*)$/m.exec(said)![1]!;
      await manager.docker(update.split(' '));
    }
    const hosts = places.flatMap(({ board }) => ['--host', board.address]);
    await manager.run(['stacks/bin/secrets', store, ...hosts], { env: AUTHORITY });
    const deployment = new Deployment(places, store, Object.assign({ ...DATA, ...more }, ...images));
    await deployment.deploy();
    return deployment;
  }

  /** Deploys, also again after a change, and waits until every service has all its tasks and they are healthy. */
  async deploy(): Promise<void> {
    await this.manager.run(['stacks/bin/deploy', this.#store, '--', '--resolve-image', 'never'], {
      env: this.#env,
    });
    await this.settled();
  }

  async settled(): Promise<void> {
    await until('all tasks of all services', async () => {
      const services = await this.manager.docker(['service', 'ls', '--format', '{{.Replicas}}']);
      const waiting = services.split('\n').filter((replicas) => !/^(\d+)\/\1( |$)/.test(replicas));
      if (waiting.length > 0) throw new Error(await this.tasks());
      return services !== '';
    });
  }

  /** The tasks, and why some do not run, for error messages. */
  tasks(): Promise<string> {
    const format = '{{.Name}} on {{.Node}}: {{.CurrentState}} {{.Error}}';
    return this.manager.docker(['stack', 'ps', '--no-trunc', '--format', format, STACK]);
  }

  /** Boards that run a service's tasks now. */
  async placesOf(service: string): Promise<Board[]> {
    const filter = ['--filter', 'desired-state=running', '--format', '{{.Node}} {{.CurrentState}}'];
    const tasks = await this.manager.docker(['service', 'ps', ...filter, `${STACK}_${service}`]);
    const names = tasks.split('\n').flatMap((line) => /^(\S+) Running/.exec(line)?.[1] ?? []);
    return names.map((name) => this.boards.find((board) => board.name === name)!);
  }

  /** Adds a user of the broker. Resolves to its password and the address of the broker. */
  async addSensor(broker: Board, name: string): Promise<SensorOptions> {
    const password = await broker.run(['stacks/bin/sensor', 'add', name], { env: this.#env });
    const ca = await this.authority();
    return { name, password, ca, address: broker.address };
  }

  /** The answer of the API, on the board where it runs. */
  async ask<T>(path: string): Promise<T> {
    const [board] = await this.placesOf('api');
    if (board === undefined) throw new Error('the API runs nowhere');
    return (await askApi(board.address, await this.authority(), path)) as T;
  }

  /** The authority's certificate, PEM. */
  authority(): Promise<string> {
    return this.manager.run(['stacks/bin/secrets', '--ca']);
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

  async remove(): Promise<void> {
    await this.manager.docker(['stack', 'rm', STACK]);
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
