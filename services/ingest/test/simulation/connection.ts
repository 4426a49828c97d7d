import assert from 'node:assert/strict';
import type { Random } from '@tidegauge/workload';
import type { IngestProcess } from './ingest-process.ts';
import type { Message } from './sensors.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The usual longest time on the network, milliseconds. */
const NETWORK_MS = 3;

/** A message that arrived over the present connection. */
interface Arrived {
  readonly message: Message;
  isSettled: boolean;
}

export interface SenderOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  /** The process to which it sends; null: none runs. */
  readonly process: () => IngestProcess | null;
}

/**
 * A client that publishes with QoS 1: a broker with a session of ingest, or a sensor of direct mode. It keeps messages until
 * they are acknowledged, in the order of their receipt. After a new connection it sends those again that were sent, in the
 * same order. Connections of different clients overtake each other.
 */
export class Connection {
  readonly #options: SenderOptions;
  /** Messages in flight at most. */
  readonly #window: number;
  /** Not acknowledged, oldest first. */
  readonly #waiting: Message[] = [];
  /** How many of them were sent over this connection, and over any one. */
  #sent = 0;
  #everSent = 0;
  /** Counts connections. */
  #epoch = 0;
  #isConnected = false;
  #isMoving = false;
  #arrived: Arrived[] = [];
  /** Acknowledgements on the network. */
  #answers: Message[] = [];

  constructor(options: SenderOptions, window: number) {
    this.#options = options;
    this.#window = window;
  }

  /** Whether all messages are acknowledged. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  publish(message: Message): void {
    this.#waiting.push(message);
    this.pump();
  }

  connect(): void {
    if (this.#isConnected || this.#options.process() === null) return;
    this.#isConnected = true;
    this.pump();
  }

  /** Ends the connection. Some of the acknowledgements on the network still arrive. */
  cut(): void {
    const arrive = this.#options.random.below(this.#answers.length + 1);
    for (let count = 0; count < arrive; count++) this.#answered();
    this.#epoch++;
    this.#isConnected = false;
    this.#isMoving = false;
    this.#sent = 0;
    this.#arrived = [];
    this.#answers = [];
  }

  /**
   * Has the client receive something, unless the connection ends before.
   *
   * @returns false when there is no connection
   */
  receive(what: string, run: () => void): boolean {
    if (this.#isConnected) this.#over(what, run);
    return this.#isConnected;
  }

  /** Sends the next message, when there is one and it may be sent. */
  pump(): void {
    if (this.#isMoving || !this.#mayMove) return;
    this.#isMoving = true;
    this.#over('arrival', () => {
      this.#isMoving = false;
      if (!this.#mayMove) return;
      this.#deliver();
      this.pump();
    });
  }

  get #mayMove(): boolean {
    const next = this.#sent < this.#window ? this.#waiting[this.#sent] : undefined;
    if (!this.#isConnected || next === undefined) return false;
    return this.#options.process()?.holds(next) === false;
  }

  #deliver(): void {
    const process = this.#options.process()!;
    const message = this.#waiting[this.#sent]!;
    const isAgain = this.#sent < this.#everSent;
    this.#sent++;
    this.#everSent = Math.max(this.#everSent, this.#sent);
    const arrived: Arrived = { message, isSettled: false };
    this.#arrived.push(arrived);
    const epoch = this.#epoch;
    process.accept(message, isAgain, () => {
      if (epoch !== this.#epoch || process.isKilled) return;
      arrived.isSettled = true;
      this.#acknowledge();
    });
  }

  /** Acknowledges in the order of receipt (MQTT 5, section 4.6). */
  #acknowledge(): void {
    while (this.#arrived[0]?.isSettled) {
      this.#answers.push(this.#arrived.shift()!.message);
      this.#over('acknowledgement', () => this.#answered());
    }
  }

  #answered(): void {
    const message = this.#answers.shift()!;
    assert.equal(this.#waiting.shift(), message, 'another message was acknowledged');
    this.#sent--;
    this.#everSent--;
    this.pump();
  }

  /** Runs after some time, unless the connection ends before. */
  #over(what: string, run: () => void): void {
    const { time, random } = this.#options;
    const epoch = this.#epoch;
    time.after(random.double() * NETWORK_MS, 'world', what, () => {
      if (epoch === this.#epoch) run();
    });
  }
}

/** A client of HTTP that sends one request at a time, and sends it again when it has no answer. */
export class HttpClient {
  readonly #options: SenderOptions;
  readonly #waiting: Message[] = [];
  #attempt = 0;
  #isBusy = false;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  send(message: Message): void {
    this.#waiting.push(message);
    this.pump();
  }

  /** The connection has ended: there is no answer. */
  cut(): void {
    this.#attempt++;
    this.#isBusy = false;
  }

  pump(): void {
    const process = this.#options.process();
    const [message] = this.#waiting;
    if (this.#isBusy || message === undefined || process === null || process.isStopping) return;
    this.#isBusy = true;
    const attempt = ++this.#attempt;
    void process.deliver(message).then(() => {
      if (process.isKilled) return;
      this.#options.time.after(NETWORK_MS, 'world', 'response', () => {
        if (attempt !== this.#attempt) return;
        this.#waiting.shift();
        this.#isBusy = false;
        this.pump();
      });
    });
  }
}
