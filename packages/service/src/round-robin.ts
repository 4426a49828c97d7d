/** Number of removed items before a queue is compacted; compacting costs the length of the rest. */
const COMPACT = 64;

interface Queue<T> {
  readonly items: T[];
  /** The index of the first item that was not removed. */
  next: number;
}

/** A queue in which clients take turns: one with many items does not delay the others. */
export class RoundRobin<T> {
  /** By client; the client that has waited longest since its last turn is first. */
  readonly #queues = new Map<string, Queue<T>>();
  #size = 0;

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** Items of all clients. */
  get size(): number {
    return this.#size;
  }

  push(client: string, item: T): void {
    const queue = this.#queues.get(client);
    if (queue === undefined) this.#queues.set(client, { items: [item], next: 0 });
    else queue.items.push(item);
    this.#size += 1;
  }

  /** Returns the next item of a client that may have a turn. */
  shift(mayHave: (client: string) => boolean = () => true): T | undefined {
    for (const [client, queue] of this.#queues) {
      if (!mayHave(client)) continue;
      this.#queues.delete(client);
      const item = this.#take(queue);
      if (lengthOf(queue) > 0) this.#queues.set(client, queue);
      return item;
    }
    return undefined;
  }

  /** Removes the oldest item of the client with the most, and returns it. The order of turns stays. */
  dropOldest(): T | undefined {
    let most: [client: string, queue: Queue<T>] | null = null;
    for (const each of this.#queues) if (most === null || lengthOf(each[1]) > lengthOf(most[1])) most = each;
    if (most === null) return undefined;
    const [client, queue] = most;
    const item = this.#take(queue);
    if (lengthOf(queue) === 0) this.#queues.delete(client);
    return item;
  }

  /** The oldest item of each client. */
  *oldest(): Generator<T> {
    for (const { items, next } of this.#queues.values()) yield items[next]!;
  }

  #take(queue: Queue<T>): T {
    const item = queue.items[queue.next++]!;
    this.#size -= 1;
    // A queue that never becomes empty must not keep its removed items.
    if (queue.next >= COMPACT && queue.next * 2 >= queue.items.length) {
      queue.items.splice(0, queue.next);
      queue.next = 0;
    }
    return item;
  }
}

function lengthOf<T>({ items, next }: Queue<T>): number {
  return items.length - next;
}

/** As many of these items as there is room for, in turns of their clients. All items, in their order, when there is room. */
export function inTurns<T>(items: readonly T[], most: number, clientOf: (item: T) => string): readonly T[] {
  if (items.length <= most) return items;
  const waiting = new RoundRobin<T>();
  for (const item of items) waiting.push(clientOf(item), item);
  return Array.from({ length: most }, () => waiting.shift()!);
}

/**
 * Removes the first item of the client with the most, and returns it.
 *
 * @param items at least one
 */
export function removeOfMost<T>(items: T[], clientOf: (item: T) => string): T {
  const [first] = [...Map.groupBy(items, clientOf).values()].reduce((most, each) =>
    each.length > most.length ? each : most,
  );
  items.splice(items.indexOf(first!), 1);
  return first!;
}
