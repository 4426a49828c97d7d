/** Number of removed items before a queue is compacted; compacting costs the length of the rest. */
const COMPACT = 64;

/** A queue in which clients take turns: one with many items does not delay the others. */
export class RoundRobin<T> {
  /** By client; the client that has waited longest since its last turn is first. */
  readonly #queues = new Map<string, { readonly items: T[]; next: number }>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  push(client: string, item: T): void {
    const queue = this.#queues.get(client);
    if (queue === undefined) this.#queues.set(client, { items: [item], next: 0 });
    else queue.items.push(item);
  }

  /** Returns the next item of a client that may have a turn. */
  shift(mayHave: (client: string) => boolean = () => true): T | undefined {
    for (const [client, queue] of this.#queues) {
      if (!mayHave(client)) continue;
      const item = queue.items[queue.next++];
      this.#queues.delete(client);
      // A queue that never becomes empty must not keep its removed items.
      if (queue.next >= COMPACT && queue.next * 2 >= queue.items.length) {
        queue.items.splice(0, queue.next);
        queue.next = 0;
      }
      if (queue.next < queue.items.length) this.#queues.set(client, queue);
      return item;
    }
    return undefined;
  }
}
