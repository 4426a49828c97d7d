import { hash } from 'node:crypto';

/** A sender, or a part of its topics, and the bytes of its items. */
export interface Share {
  /** Kept with each item. */
  readonly id: number;
  readonly parent: Share | null;
  /** Bytes of the items that are in no part of it. */
  own: number;
  /** With all its parts. */
  total: number;
  readonly parts: Set<Share>;
}

/** Shares that are distinguished; items of further ones belong to the sender, or to none. */
const MAX_SHARES = 10_000;
/** Levels of a topic that distinguish the parts of a sender. */
const PART_LEVELS = [3, 4];
/** Hexadecimal digits of a hash that are the number of a share: a double has 48 bits exactly. */
const ID_DIGITS = 12;

/**
 * The bytes of the quarantine by sender, and of each sender by the first levels of its topics. At the bound the sender
 * with the most bytes loses items, and of its parts the one with the most. So a sender gains nothing when it varies its
 * topics.
 */
export class Shares {
  /** Its own items are those of version 0.2.0, and of senders beyond the bound. */
  readonly #root = shareOf(0, null);
  readonly #shares = new Map<number, Share>([[0, this.#root]]);

  /** The share of an item. `known` is the one that it was counted for by an earlier process. */
  of(client: string, topic: string, known: number | null = null): Share {
    let share = this.#root;
    for (const id of idsOf(client, topic)) {
      if (share.id === known) break;
      const found = this.#shares.get(id);
      if (found === undefined && this.#shares.size >= MAX_SHARES) break;
      share = found ?? shareOf(id, share);
    }
    return share;
  }

  get(id: number): Share {
    return this.#shares.get(id) ?? this.#root;
  }

  add(share: Share, bytes: number): void {
    share.own += bytes;
    for (let at: Share | null = share; at !== null; at = at.parent) {
      at.total += bytes;
      at.parent?.parts.add(at);
      this.#shares.set(at.id, at);
    }
  }

  remove(share: Share, bytes: number): void {
    share.own -= bytes;
    for (let at: Share | null = share; at !== null; at = at.parent) {
      at.total -= bytes;
      if (at.total > 0 || at.parent === null) continue;
      at.parent.parts.delete(at);
      this.#shares.delete(at.id);
    }
  }

  /** The one that loses items. */
  largest(): Share {
    let share = this.#root;
    for (;;) {
      let most: Share | null = null;
      for (const part of share.parts) if (most === null || part.total > most.total) most = part;
      if (most === null || share.own >= most.total) return share;
      share = most;
    }
  }
}

/** The sender of a message from a broker, of which only the topic is known. */
export function senderOfTopic(topic: string): string {
  return prefixOf(topic, 2);
}

function shareOf(id: number, parent: Share | null): Share {
  return { id, parent, own: 0, total: 0, parts: new Set() };
}

function idsOf(client: string, topic: string): readonly number[] {
  const parts = new Set(PART_LEVELS.map((levels) => prefixOf(topic, levels)));
  return [idOf(client), ...[...parts].map((part) => idOf(`${client}\0${part}`))];
}

function prefixOf(topic: string, levels: number): string {
  let end = -1;
  for (let level = 0; level < levels; level++) {
    end = topic.indexOf('/', end + 1);
    if (end === -1) return topic;
  }
  return topic.slice(0, end);
}

function idOf(text: string): number {
  return Number.parseInt(hash('sha256', text).slice(0, ID_DIGITS), 16);
}
