import type { ResendDocument } from '@tidegauge/readings';
import { connectAsync, type MqttClient } from 'mqtt';
import { type Owner, ownersOf } from './ledger-watch.ts';
import { ROOT } from './streams.ts';
import type { Flow } from './traffic.ts';

const RECONNECT_MS = 200;

/**
 * Sends missing readings again when ingest requests them, for all sensors of a run. They keep all that they sent
 * (docs/nothing-missing.md). What they lost before they sent it stays missing.
 */
export class Keeper {
  /** Requests that arrived. */
  requests = 0;
  /** Messages that were sent again. */
  sentAgain = 0;
  readonly #client: MqttClient;
  readonly #owners: ReadonlyMap<string, Owner>;

  private constructor(client: MqttClient, flows: readonly Flow[]) {
    this.#client = client;
    this.#owners = ownersOf(flows);
    client.on('message', (_topic, payload) => this.#answer(JSON.parse(payload.toString()) as ResendDocument));
    client.on('error', () => {});
  }

  /** @param port of the broker on loopback, or of a proxy before it */
  static async start(port: number, flows: readonly Flow[]): Promise<Keeper> {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: RECONNECT_MS });
    const keeper = new Keeper(client, flows);
    await client.subscribeAsync(`tidegauge/resend/${ROOT}/#`);
    return keeper;
  }

  async stop(): Promise<void> {
    await this.#client.endAsync(true);
  }

  #answer({ device, ranges }: ResendDocument): void {
    this.requests++;
    const { flow, place } = this.#owners.get(device)!;
    const { stream } = flow;
    for (const [first, last] of ranges) {
      for (let seq = first; seq <= last; seq++) {
        const number = place + seq * stream.devices;
        if (number >= flow.sent || stream.isLost(number)) continue;
        this.sentAgain++;
        // Until it is acknowledged, the client sends it again on each new connection.
        this.#client.publish(stream.topic(number), stream.payload(number), { qos: 1 });
      }
    }
  }
}
