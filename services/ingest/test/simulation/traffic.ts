import type { ResendDocument } from '@tidegauge/readings';
import { Connection, HttpClient, type SenderOptions } from './connection.ts';
import type { Plan } from './plan.ts';
import type { Message, Sensors } from './sensors.ts';

const GATEWAY = 'gw';
/** Messages of a sensor in flight at most. */
const SENSOR_WINDOW = 100;
/** The longest time until a client connects to a new process, milliseconds. */
const CONNECT_MS = 100;

type Publish = () => void;

/** All messages of a schedule, and their ways to ingest. */
export class Traffic {
  readonly #plan: Plan;
  readonly #sensors: Sensors;
  readonly #startMs: number;
  readonly #options: SenderOptions;
  readonly #connections: Connection[] = [];
  readonly #clients: HttpClient[] = [];
  readonly #publishers: Publish[] = [];
  /** By the first level of the devices that are behind them. */
  readonly #listeners = new Map<string, Connection>();
  #left: number;

  /** @param startMs the time of the sensors' clocks at the start, milliseconds since the epoch */
  constructor(plan: Plan, sensors: Sensors, startMs: number, options: SenderOptions) {
    this.#plan = plan;
    this.#sensors = sensors;
    this.#startMs = startMs;
    this.#options = options;
    this.#left = plan.messages;
    this.#addSenders();
  }

  /** Whether all messages were sent and acknowledged. */
  get isEmpty(): boolean {
    return this.#left === 0 && [...this.#connections, ...this.#clients].every(({ isEmpty }) => isEmpty);
  }

  start(): void {
    this.#planNext();
  }

  /** Connects all clients to a new process. */
  connect(): void {
    for (const connection of this.#connections) this.#connectSoon(connection, CONNECT_MS);
    for (const client of this.#clients) client.pump();
  }

  /** Ends all connections. */
  cut(): void {
    for (const connection of this.#connections) connection.cut();
    for (const client of this.#clients) client.cut();
  }

  /** Ends one connection, which its client opens again. */
  cutOne(downMs: number): void {
    const connection = this.#oneOf(this.#connections);
    connection.cut();
    this.#connectSoon(connection, downMs);
  }

  /** Sends what waits, because ingest takes messages again. */
  pump(): void {
    for (const each of [...this.#connections, ...this.#clients]) each.pump();
  }

  /** Passes a request for missing readings to its device. Returns false when the device cannot receive it. */
  request(request: ResendDocument): boolean {
    const connection = this.#listeners.get(request.device.split('/', 1)[0]!);
    const answer = () => {
      for (const message of this.#sensors.answer(request)) connection!.publish(message);
    };
    return connection?.receive('request', answer) ?? false;
  }

  #connectSoon(connection: Connection, ms: number): void {
    const { time, random } = this.#options;
    time.after(random.double() * ms, 'world', 'connection', () => connection.connect());
  }

  #addSenders(): void {
    const { isDirect, sensors, gatewayDevices, httpClients, window } = this.#plan;
    const broker = isDirect ? null : this.#addConnection(window);
    const publish = (name: string, make: () => Message): Publish => {
      const connection = broker ?? this.#addConnection(SENSOR_WINDOW);
      this.#listeners.set(name, connection);
      return () => connection.publish(make());
    };
    const names = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, place) => prefix + place);
    for (const name of names('s', sensors))
      this.#publishers.push(publish(name, () => this.#sensors.single(name, this.#at)));
    const behind = names('d', gatewayDevices);
    const some = () => {
      const chosen = behind.filter(() => this.#options.random.below(2) === 0);
      return chosen.length === 0 ? behind : chosen;
    };
    if (gatewayDevices > 0)
      this.#publishers.push(publish(GATEWAY, () => this.#sensors.gateway(GATEWAY, some(), this.#at)));
    for (const name of names('h', httpClients)) {
      const client = new HttpClient(this.#options);
      this.#clients.push(client);
      this.#publishers.push(() => client.send(this.#sensors.request(name, this.#at)));
    }
  }

  #addConnection(window: number): Connection {
    const connection = new Connection(this.#options, window);
    this.#connections.push(connection);
    return connection;
  }

  /** The time of the sensors' clocks, microseconds since the epoch. */
  get #at(): number {
    return Math.floor((this.#startMs + this.#options.time.now) * 1000);
  }

  #planNext(): void {
    if (this.#left === 0) return;
    const { time, random } = this.#options;
    time.after(random.double() * this.#plan.pauseMs, 'world', 'message', () => {
      this.#left--;
      this.#oneOf(this.#publishers)();
      this.#planNext();
    });
  }

  #oneOf<T>(values: readonly T[]): T {
    return values[this.#options.random.below(values.length)]!;
  }
}
