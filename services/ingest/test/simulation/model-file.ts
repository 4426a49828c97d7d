import type { Random } from '@tidegauge/workload';

interface Write {
  readonly at: number;
  readonly data: Uint8Array;
}

interface Truncation {
  readonly length: number;
}

/** A change of a file that the page cache has and the disk may not have. */
type Change = Write | Truncation;

/** Bytes that grow. */
class Content {
  #bytes = Buffer.alloc(0);
  length = 0;

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  apply(change: Change): void {
    if ('length' in change) this.#resize(change.length);
    else {
      this.#resize(Math.max(this.length, change.at + change.data.length));
      this.#bytes.set(change.data, change.at);
    }
  }

  #resize(length: number): void {
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.bytes);
      this.#bytes = larger;
    } else if (length < this.length) this.#bytes.fill(0, length, this.length);
    this.length = length;
  }
}

/**
 * A file behind a page cache. The process and its successors see all changes. After a power cut, the file has what was synced,
 * and any of the later changes: none, a part, or zeros in their place. They can reach the disk in another order.
 */
export class ModelFile {
  #cached = new Content();
  #synced = new Content();
  #unsynced: Change[] = [];
  /** Changes that are on the disk, or lost. */
  #settled = 0;

  /** What processes read. */
  get bytes(): Buffer {
    return this.#cached.bytes;
  }

  get length(): number {
    return this.#cached.length;
  }

  /** @param data is copied */
  write(at: number, data: Uint8Array): void {
    this.#change({ at, data: Uint8Array.from(data) });
  }

  truncate(length: number): void {
    this.#change({ length });
  }

  /** Begins a sync: the function that is returned ends it. What is written meanwhile is not synced. */
  beginSync(): () => void {
    const end = this.#settled + this.#unsynced.length;
    return () => {
      for (const change of this.#settle(end - this.#settled)) this.#synced.apply(change);
    };
  }

  /** A sync that failed: Linux counts the changes as written, so no later sync writes them. */
  loseUnsynced(): void {
    this.#settle(this.#unsynced.length);
  }

  cutPower(random: Random): void {
    for (const change of this.#settle(this.#unsynced.length)) {
      const kept = 'length' in change ? change : keptPart(change, random);
      if (random.below(3) > 0) this.#synced.apply(kept);
    }
    this.#cached = new Content();
    this.#cached.apply({ at: 0, data: this.#synced.bytes });
  }

  /** Takes the oldest changes that are not synced. Another sync can have taken them. */
  #settle(changes: number): Change[] {
    const taken = this.#unsynced.splice(0, Math.max(0, changes));
    this.#settled += taken.length;
    return taken;
  }

  #change(change: Change): void {
    this.#cached.apply(change);
    this.#unsynced.push(change);
  }
}

/** What the disk has of a write that it has in part. */
function keptPart({ at, data }: Write, random: Random): Write {
  switch (random.below(4)) {
    case 0:
      return { at, data: data.subarray(0, random.below(data.length + 1)) };
    case 1:
      return { at, data: new Uint8Array(data.length) };
    default:
      return { at, data };
  }
}
