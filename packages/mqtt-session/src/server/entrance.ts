/** A connection that has not logged in. */
export interface Newcomer {
  /** The client of its address. */
  readonly address: string;
  /** Bytes received so far. */
  readonly progress: number;
  /** Whether it waits for this process, not for its client. */
  readonly isChecked: boolean;
  /** It has its turn: the handshake may begin. */
  enter(): void;
  /** Ends, because others need its place. */
  drop(): void;
}

export interface EntranceOptions {
  /** Connections at the same time that are in the TLS handshake or the login. */
  readonly maxEntering: number;
  /** Connections at the same time that wait for their turn. Nothing is read from them, so each takes little memory. */
  readonly maxWaiting: number;
}

/**
 * Ticks without a byte after which a connection can end for one that waits: three seconds, because a small board computes
 * for a second or two between two messages of a handshake.
 */
const STALLED_TICKS = 12;
export const TICK_MS = 250;

interface Turn {
  progress: number;
  ticks: number;
}

/** The connections of one address, oldest first. */
class Group<N> {
  readonly waiting = new Set<N>();
  readonly entering = new Set<N>();
}

/**
 * The way from a new connection to its login. Handshakes take memory and time before anything is known about the client
 * except its address. So few connections are in it at a time, the addresses take turns, and the others wait and are not
 * read. When there is no room, the oldest connection of the address with the most ends. If others wait, one whose client
 * sends nothing for three seconds ends as well.
 */
export class Entrance<N extends Newcomer> {
  readonly #options: EntranceOptions;
  /** The address that had its turn last comes last. */
  readonly #groups = new Map<string, Group<N>>();
  readonly #waiting = new Set<N>();
  /** Oldest first. */
  readonly #entering = new Map<N, Turn>();
  #clock: NodeJS.Timeout | undefined;
  #isAdvancing = false;

  constructor(options: EntranceOptions) {
    this.#options = options;
  }

  arrive(newcomer: N): void {
    const group = this.#groups.get(newcomer.address) ?? new Group<N>();
    this.#groups.set(newcomer.address, group);
    group.waiting.add(newcomer);
    this.#waiting.add(newcomer);
    this.#advance();
    if (this.#waiting.size <= this.#options.maxWaiting) return;
    const most = Math.max(...[...this.#groups.values()].map(({ waiting }) => waiting.size));
    this.#drop(this.#oldest(this.#waiting, ({ waiting }) => waiting.size === most)!);
  }

  /** It has logged in, or its connection ended. */
  leave(newcomer: N): void {
    if (!this.#remove(newcomer)) return;
    this.#advance();
  }

  close(): void {
    clearInterval(this.#clock);
    for (const newcomer of [...this.#waiting, ...this.#entering.keys()]) this.#drop(newcomer);
  }

  #advance(): void {
    // A connection that ends makes room, which the loop finds.
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    while (this.#waiting.size > 0) {
      const [address, group] = this.#next();
      if (this.#entering.size >= this.#options.maxEntering) {
        const victim = this.#victim(group.entering.size);
        if (victim === undefined) break;
        this.#drop(victim);
      }
      const [newcomer] = group.waiting;
      group.waiting.delete(newcomer!);
      this.#waiting.delete(newcomer!);
      group.entering.add(newcomer!);
      this.#entering.set(newcomer!, { progress: newcomer!.progress, ticks: 0 });
      this.#groups.delete(address);
      this.#groups.set(address, group);
      newcomer!.enter();
    }
    this.#isAdvancing = false;
    if (this.#waiting.size > 0) this.#clock ??= setInterval(() => this.#tick(), TICK_MS);
    else {
      clearInterval(this.#clock);
      this.#clock = undefined;
    }
  }

  /** Of the addresses with connections that wait, the one with the fewest in the handshake. */
  #next(): [string, Group<N>] {
    let next: [string, Group<N>] | undefined;
    for (const entry of this.#groups) {
      if (entry[1].waiting.size === 0) continue;
      if (next === undefined || entry[1].entering.size < next[1].entering.size) next = entry;
    }
    return next!;
  }

  /** The connection that ends for one of an address that has `own` connections in the handshake. */
  #victim(own: number): N | undefined {
    let most = 0;
    for (const { entering } of this.#groups.values()) most = Math.max(most, entering.size);
    if (most > own + 1) return this.#oldest(this.#entering.keys(), ({ entering }) => entering.size === most);
    for (const [newcomer, { ticks }] of this.#entering)
      if (ticks >= STALLED_TICKS && this.#groups.get(newcomer.address)!.entering.size >= own) return newcomer;
    return undefined;
  }

  #oldest(newcomers: Iterable<N>, isMost: (group: Group<N>) => boolean): N | undefined {
    for (const newcomer of newcomers) if (isMost(this.#groups.get(newcomer.address)!)) return newcomer;
    return undefined;
  }

  #tick(): void {
    for (const [newcomer, turn] of this.#entering) {
      const isSilent = !newcomer.isChecked && newcomer.progress === turn.progress;
      turn.ticks = isSilent ? turn.ticks + 1 : 0;
      turn.progress = newcomer.progress;
    }
    this.#advance();
  }

  #drop(newcomer: N): void {
    this.#remove(newcomer);
    newcomer.drop();
  }

  #remove(newcomer: N): boolean {
    const group = this.#groups.get(newcomer.address);
    const isHere = group !== undefined && (group.waiting.delete(newcomer) || group.entering.delete(newcomer));
    if (!isHere) return false;
    this.#waiting.delete(newcomer);
    this.#entering.delete(newcomer);
    if (group.waiting.size + group.entering.size === 0) this.#groups.delete(newcomer.address);
    return true;
  }
}
