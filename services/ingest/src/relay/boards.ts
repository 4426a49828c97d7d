import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isTable } from '@tidegauge/readings';
import { type Logger, Problem } from '@tidegauge/service';
import { replaceFile } from '../replace-file.ts';
import type { RelayAnswer, RelayHeader } from './relay-message.ts';

/** Boards of all clients, and of one. */
const MOST_BOARDS = 1000;
const MOST_OF_CLIENT = 100;
/** A board without a request for so long is lost, milliseconds. It sends one at least every 30 s. */
const LOST_MS = 5 * 60_000;
/** The file is written at most so often, unless a board is new, milliseconds. */
const KEEP_EVERY_MS = 60_000;

interface Board {
  readonly id: string;
  name: string;
  /** The login or address that its last request had. */
  client: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  lastContact: number;
  backlogBytes: number;
  lagSeconds: number;
  /** Since the start of this process. */
  received: number;
  stored: number;
  duplicate: number;
  quarantined: number;
  refused: number;
}

/** The types of what the file has of a board. */
const KEPT = {
  id: 'string',
  name: 'string',
  client: 'string',
  since: 'number',
  lastContact: 'number',
} as const;

function isKept(value: unknown): value is Pick<Board, keyof typeof KEPT> {
  return isTable(value) && Object.entries(KEPT).every(([key, type]) => typeof value[key] === type);
}

/** A board as `GET /relay` shows it. */
export interface BoardDocument extends Omit<Board, 'since' | 'lastContact'> {
  readonly since: string;
  readonly lastContact: string;
  readonly lost: boolean;
}

/** The counts of an answer. */
export type Counts = Pick<RelayAnswer, 'received' | 'stored' | 'duplicate' | 'quarantined' | 'refused'>;

const NOTHING: Counts = { received: 0, stored: 0, duplicate: 0, quarantined: 0, refused: 0 };

/**
 * The boards that relay to this process. Their names and last contacts are kept in a file, so that a board that is lost
 * while this process restarts is still shown. The file has the id of this process too.
 */
export class Boards {
  readonly #file: string;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #boards = new Map<string, Board>();
  #id: string | null = null;
  #kept = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds since the epoch */
  constructor(file: string, logger: Logger, now: () => number = Date.now) {
    this.#file = file;
    this.#logger = logger;
    this.#now = now;
    this.#read();
  }

  /** Identifies this process to the others of a chain. It is made when it is first needed. */
  get id(): string {
    if (this.#id !== null) return this.#id;
    this.#id = randomUUID();
    this.#keep();
    return this.#id;
  }

  get size(): number {
    return this.#boards.size;
  }

  get lost(): number {
    return this.list().filter(({ lost }) => lost).length;
  }

  /** The longest wait of readings on a board that is not lost, seconds. */
  get lagSeconds(): number {
    return Math.max(0, ...this.list().map(({ lost, lagSeconds }) => (lost ? 0 : lagSeconds)));
  }

  /**
   * Notes a request.
   *
   * @throws {Problem} 429 when there are too many boards
   */
  contact({ board: id, name, backlogBytes, lagSeconds }: RelayHeader, client: string): void {
    const now = this.#now();
    const known = this.#boards.get(id);
    if (known === undefined) this.#demandPlace(client);
    const board = known ?? { id, since: now, ...NOTHING };
    this.#boards.set(id, { ...board, name, client, lastContact: now, backlogBytes, lagSeconds });
    if (known === undefined) this.#logger.info({ board: name, id, client }, 'a board relays to this process');
    if (known === undefined || now - this.#kept >= KEEP_EVERY_MS) this.#keep();
  }

  /** Adds what became of the readings of a request. */
  count(id: string, { received, stored, duplicate, quarantined, refused }: Counts): void {
    const board = this.#boards.get(id);
    if (board === undefined) return;
    board.received += received;
    board.stored += stored;
    board.duplicate += duplicate;
    board.quarantined += quarantined;
    board.refused += refused;
  }

  /** Removes a board that does not return. Returns whether there was one. */
  remove(id: string): boolean {
    const existed = this.#boards.delete(id);
    if (existed) this.#keep();
    return existed;
  }

  list(): readonly BoardDocument[] {
    const now = this.#now();
    return [...this.#boards.values()].map((board) => ({
      ...board,
      since: new Date(board.since).toISOString(),
      lastContact: new Date(board.lastContact).toISOString(),
      lost: now - board.lastContact > LOST_MS,
    }));
  }

  close(): void {
    if (this.#boards.size > 0) this.#keep();
  }

  #demandPlace(client: string): void {
    const own = [...this.#boards.values()].filter((board) => board.client === client).length;
    if (own < MOST_OF_CLIENT && this.#boards.size < MOST_BOARDS) return;
    const detail =
      own < MOST_OF_CLIENT
        ? `There are ${MOST_BOARDS} boards. Remove those that do not return.`
        : `This key has ${MOST_OF_CLIENT} boards. Give boards their own keys, or remove those that do not return.`;
    throw new Problem(429, 'Too many boards', detail, { retryAfter: 60 });
  }

  #read(): void {
    try {
      const state: unknown = JSON.parse(readFileSync(this.#file, 'utf8'));
      if (!isTable(state) || typeof state.id !== 'string') throw new Error('it has no id');
      this.#id = state.id;
      const boards = Array.isArray(state.boards) ? state.boards.slice(0, MOST_BOARDS) : [];
      for (const { id, name, client, since, lastContact } of boards.filter(isKept)) {
        const board = { id, name, client, since, lastContact, backlogBytes: 0, lagSeconds: 0, ...NOTHING };
        this.#boards.set(id, board);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      this.#logger.error(
        { err: error, file: this.#file },
        'the list of boards cannot be read: it begins again',
      );
    }
  }

  #keep(): void {
    this.#kept = this.#now();
    const boards = [...this.#boards.values()].map(({ id, name, client, since, lastContact }) => ({
      id,
      name,
      client,
      since,
      lastContact,
    }));
    try {
      replaceFile(this.#file, `${JSON.stringify({ id: this.id, boards })}\n`);
    } catch (error) {
      this.#logger.error({ err: error, file: this.#file }, 'the list of boards cannot be written');
    }
  }
}
