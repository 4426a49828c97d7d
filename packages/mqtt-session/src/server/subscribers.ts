/** The connections that subscribed, by filter. A filter is a topic, or a topic and `/#`, which includes the topic itself. */
export class Subscribers<C> {
  readonly #byFilter = new Map<string, Set<C>>();

  get isEmpty(): boolean {
    return this.#byFilter.size === 0;
  }

  add(filter: string, connection: C): void {
    const known = this.#byFilter.get(filter);
    if (known === undefined) this.#byFilter.set(filter, new Set([connection]));
    else known.add(connection);
  }

  delete(filter: string, connection: C): void {
    const known = this.#byFilter.get(filter);
    known?.delete(connection);
    if (known?.size === 0) this.#byFilter.delete(filter);
  }

  /** Those with a filter that matches a topic, each once. */
  of(topic: string): ReadonlySet<C> {
    const found = new Set<C>();
    if (this.isEmpty) return found;
    const levels = topic.split('/');
    const parents = levels.map((_, index) => `${levels.slice(0, index + 1).join('/')}/#`);
    for (const filter of [topic, ...parents])
      for (const connection of this.#byFilter.get(filter) ?? []) found.add(connection);
    return found;
  }
}
