/** The part of a process that a channel uses: `process` in a worker, and the worker in its parent. */
export interface Port {
  /** Calls `sent` when the system has taken the message. */
  send(message: unknown, sent: () => void): void;
  onMessage(listener: (message: unknown) => void): void;
}

type Handler = (value: never) => unknown;

/** `tell` has the id 0, a call its own id, and an answer its negative. Answers have a topic when they are errors. */
type Item = readonly [id: number, topic: string, value: unknown];

/**
 * Messages between a worker process and its parent, in order. Both can call and be called. What one turn of the event
 * loop sends is one message, because a message costs as much as dozens of items.
 */
export class Channel {
  readonly #port: Port;
  readonly #handlers = new Map<string, Handler>();
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #queue: Item[] = [];
  /** What was received before its topic had a handler, while the process starts. */
  #early: Item[] = [];
  #lastId = 0;
  #unsent = 0;
  #isClosed = false;

  constructor(port: Port) {
    this.#port = port;
    port.onMessage((message) => {
      if (isBatch(message)) for (const item of message.items) this.#receive(item);
    });
  }

  /** Answers calls of a topic with what `handler` returns or resolves to. */
  on<T>(topic: string, handler: (value: T) => unknown): void {
    this.#handlers.set(topic, handler as Handler);
    const early = this.#early.filter((item) => item[1] === topic);
    this.#early = this.#early.filter((item) => item[1] !== topic);
    for (const item of early) this.#receive(item);
  }

  /** Messages that the other process has not read, as far as the system does not buffer them. */
  get backlog(): number {
    return this.#unsent;
  }

  tell(topic: string, value: unknown): void {
    this.#send([0, topic, value]);
  }

  /** Resolves to the answer. Rejects when the other process ends first, or its handler fails. */
  call<T>(topic: string, value: unknown): Promise<T> {
    if (this.#isClosed) return Promise.reject(new Error(ENDED));
    const answer = Promise.withResolvers<unknown>();
    this.#lastId += 1;
    this.#calls.set(this.#lastId, answer);
    this.#send([this.#lastId, topic, value]);
    return answer.promise as Promise<T>;
  }

  /** The other process has ended. */
  close(): void {
    this.#isClosed = true;
    this.#queue = [];
    for (const { reject } of this.#calls.values()) reject(new Error(ENDED));
    this.#calls.clear();
  }

  #send(item: Item): void {
    if (this.#isClosed) return;
    if (this.#queue.push(item) > 1) return;
    setImmediate(() => {
      const items = this.#queue;
      this.#queue = [];
      if (items.length === 0) return;
      this.#unsent += 1;
      this.#port.send({ items } satisfies Batch, () => (this.#unsent -= 1));
    });
  }

  #receive([id, topic, value]: Item): void {
    if (id < 0) {
      const call = this.#calls.get(-id);
      this.#calls.delete(-id);
      if (topic === '') call?.resolve(value);
      else call?.reject(new Error(topic));
      return;
    }
    const handler = this.#handlers.get(topic);
    if (handler === undefined) {
      this.#early.push([id, topic, value]);
      return;
    }
    const result = handler(value as never);
    if (id === 0) return;
    if (!(result instanceof Promise)) this.#send([-id, '', result]);
    else
      result.then(
        (answer) => this.#send([-id, '', answer]),
        (error: Error) => this.#send([-id, error.message || 'failed', null]),
      );
  }
}

const ENDED = 'the other process has ended';

interface Batch {
  readonly items: readonly Item[];
}

function isBatch(message: unknown): message is Batch {
  return Array.isArray((message as Partial<Batch> | null)?.items);
}
