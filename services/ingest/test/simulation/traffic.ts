import type { ResendDocument } from '@tidegauge/readings';
import { Connection, HttpClient, type SenderOptions } from './connection.ts';
import { isShared, type Plan } from './plan.ts';
import type { Message, Sensors } from './sensors.ts';

const GATEWAY = 'gw';
/** Messages of a sensor in flight at most. */
const SENSOR_WINDOW = 100;
/** The longest time until a client connects to a new process, milliseconds. */
const CONNECT_MS = 100;

type Publish = () => void;
type Client = Connection | HttpClient;

export interface TrafficOptions extends Pick<SenderOptions, 'time' | 'random'> {
  /** The process of each board that runs now; null: none. */
  readonly processes: readonly SenderOptions['process'][];
}

/** All messages of a schedule, and their ways to ingest. */
export class Traffic {
  readonly #plan: Plan;
  readonly #sensors: Sensors;
  readonly #startMs: number;
  readonly #options: TrafficOptions;
  readonly #connections: Connection[] = [];
  readonly #clients: HttpClient[] = [];
  /** The board of each client, and of each first level of devices, by its number. */
  readonly #boards = new Map<Client | string, number>();
  readonly #publishers: Publish[] = [];
  /** By the first level of the devices that are behind them. */
  readonly #listeners = new Map<string, Connection>();
  #left: number;

  /** @param startMs the time of the sensors' clocks at the start, milliseconds since the epoch */
  constructor(plan: Plan, sensors: Sensors, startMs: number, options: TrafficOptions) {
    this.#plan = plan;
    this.#sensors = sensors;
    this.#startMs = startMs;
    this.#options = options;
    this.#left = plan.messages;
    this.#addSenders();
  }

  /** Whether all messages were sent and acknowledged. */
  get isEmpty(): boolean {
    return this.#left === 0 && this.#all.every(({ isEmpty }) => isEmpty);
  }

  /** Whether a board has all messages of a device. */
  isOf(board: number, device: string): boolean {
    return this.#boards.get(firstLevel(device)) === board;
  }

  start(): void {
    this.#planNext();
  }

  /** Connects all clients to a new process. */
  connect(): void {
    for (const connection of this.#connections) this.#connectSoon(connection, CONNECT_MS);
    for (const client of this.#clients) client.pump();
  }

  /** Ends all connections to a board. */
  cut(board: number): void {
    for (const client of this.#all) if (this.#boards.get(client) === board) client.cut();
  }

  /** Ends one connection, which its client opens again. */
  cutOne(downMs: number): void {
    const connection = this.#oneOf(this.#connections);
    connection.cut();
    this.#connectSoon(connection, downMs);
  }

  /** Sends what waits, because ingest takes messages again. */
  pump(): void {
    for (const client of this.#all) client.pump();
  }

  /** Passes a request for missing readings to its device. Returns false when the device cannot receive it. */
  request(request: ResendDocument): boolean {
    const connection = this.#listeners.get(firstLevel(request.device));
    const answer = () => {
      for (const message of this.#sensors.answer(request)) connection!.publish(message);
    };
    return connection?.receive('request', answer) ?? false;
  }

  get #all(): readonly Client[] {
    return [...this.#connections, ...this.#clients];
  }

  #connectSoon(connection: Connection, ms: number): void {
    const { time, random } = this.#options;
    time.after(random.double() * ms, 'world', 'connection', () => connection.connect());
  }

  #addSenders(): void {
    const { isDirect, sensors, gatewayDevices, httpClients, window } = this.#plan;
    const sessions = isDirect
      ? []
      : this.#options.processes.map((_, board) => this.#addConnection(board, window));
    const publish = (name: string, make: () => Message): Publish => {
      if (isShared(this.#plan)) return () => this.#oneOf(sessions).publish(make());
      const board = this.#boardOf(name);
      const connection = sessions[board] ?? this.#addConnection(board, SENSOR_WINDOW);
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
      const board = this.#boardOf(name);
      const client = new HttpClient(this.#sender(board));
      this.#clients.push(client);
      this.#boards.set(client, board);
      this.#publishers.push(() => client.send(this.#sensors.request(name, this.#at)));
    }
  }

  #addConnection(board: number, window: number): Connection {
    const connection = new Connection(this.#sender(board), window);
    this.#connections.push(connection);
    this.#boards.set(connection, board);
    return connection;
  }

  #sender(board: number): SenderOptions {
    return { ...this.#options, process: this.#options.processes[board]! };
  }

  /** Chooses the board for the devices below a name. */
  #boardOf(name: string): number {
    const { processes, random } = this.#options;
    const board = processes.length === 1 ? 0 : random.below(processes.length);
    this.#boards.set(name, board);
    return board;
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

function firstLevel(device: string): string {
  return device.split('/', 1)[0]!;
}
