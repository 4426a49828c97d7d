import type { RollupPeriod, SeriesName, SeriesScope } from '../contract.ts';
import { StoreError } from '../errors.ts';
import type { BackendRollups } from './backend-rollups.ts';
import { DAY_US } from './periods.ts';

/** What an expiry deletes: readings, or the rollups of a period. */
export type Expirable = 'raw' | RollupPeriod;

/** Data of the scope before this time can be deleted, microseconds. */
interface Limit extends SeriesScope {
  readonly kind: Expirable;
  readonly before: number;
}

/** For one series: the time since which the data of each kind is complete, microseconds. 0: since ever. */
export type Limits = Readonly<Record<Expirable, number>>;

/** The name of the state, a JSON document. The migration of an engine writes it with `sinceDocument`. */
export const ROLLUPS_STATE = 'rollups';
/** The name of the state of the backfill, a JSON document: `BackfillState`. */
export const BACKFILL_STATE = 'backfill';
/** The most scopes of one kind. Every aggregate reads them. */
const MAX_SCOPES = 500;

/**
 * How long writers that do not mark readings can run beside the migration: the time that readings can be in the future
 * (a day), and a day for a rolling upgrade. Microseconds.
 */
export const UNMARKED_US = 2 * DAY_US;

/** Which days of older readings were marked. */
export interface BackfillState {
  /** The series from which it continues, and the time. */
  readonly device?: string;
  readonly metric?: string;
  readonly from?: number;
  /** All days were marked. */
  readonly all?: boolean;
  /** All rollups were computed: those of days from this time on are complete, microseconds. */
  readonly since?: number;
}

interface Document {
  /** All readings from this time on were marked when they were written, microseconds. */
  readonly since: number;
  readonly limits?: readonly Limit[];
}

/**
 * The first state of a store. Readings that a store had before its upgrade have no marks.
 * @param isEmpty whether the store has no readings
 */
export function sinceDocument(isEmpty: boolean): string {
  return JSON.stringify({ since: isEmpty ? 0 : Date.now() * 1000 + UNMARKED_US });
}

/** Which data of a store is complete. It is read again for each use, because other processes change it. */
export class RollupState {
  readonly text: string;
  readonly since: number;
  readonly #limits: readonly Limit[];
  /** The engine itself can have deleted readings before this time. */
  readonly #expired: number;

  private constructor(text: string, { since, limits = [] }: Document, expired: number) {
    this.text = text;
    this.since = since;
    this.#limits = limits;
    this.#expired = expired;
  }

  /** @param now microseconds */
  static async read(backend: BackendRollups, now: number): Promise<RollupState> {
    const text = (await backend.getState(ROLLUPS_STATE)) ?? sinceDocument(false);
    try {
      const document: Document = JSON.parse(text);
      const { rawTtl = 0 } = backend;
      // A reading can be written a day before its time.
      const expired = rawTtl === 0 ? 0 : Math.max(0, now - rawTtl + DAY_US);
      if (document.since === 0) return new RollupState(text, document, expired);
      // The backfill has a separate state, because another process can store a limit at the same time.
      const backfill = await backend.getState(BACKFILL_STATE);
      const { since = document.since } = JSON.parse(backfill ?? '{}') as BackfillState;
      return new RollupState(`${text} ${backfill}`, { ...document, since }, expired);
    } catch (cause) {
      if (cause instanceof StoreError) throw cause;
      throw new StoreError('UNEXPECTED', `the state of the rollups is damaged: ${text}`, { cause });
    }
  }

  /**
   * Stores that data of a scope before a time can be deleted. Called before the deletion, by one process at a time.
   * @throws {StoreError} REJECTED if there are too many scopes.
   */
  static async limit(
    backend: BackendRollups,
    kind: Expirable,
    before: number,
    { devices = '', metric }: SeriesScope,
  ): Promise<void> {
    const state = await RollupState.read(backend, 0);
    const { since } = state;
    const known = state.#limits;
    const isSame = (limit: Limit) =>
      limit.kind === kind && limit.devices === devices && limit.metric === metric;
    const old = known.find(isSame);
    if (old !== undefined && old.before >= before) return;
    const others = known.filter((limit) => limit !== old);
    if (others.filter((limit) => limit.kind === kind).length >= MAX_SCOPES) {
      throw new StoreError('REJECTED', `there are more than ${MAX_SCOPES} scopes with deleted ${kind} data`, {
        hint: 'delete by a shorter prefix of devices',
      });
    }
    const limits = [...others, { kind, before, devices, ...(metric === undefined ? {} : { metric }) }];
    await backend.setState(ROLLUPS_STATE, JSON.stringify({ since, limits }));
  }

  /** All readings from this time on are there, microseconds. */
  get deletedBefore(): number {
    const limits = this.#limits.filter(({ kind }) => kind === 'raw').map(({ before }) => before);
    return Math.max(this.#expired, ...limits);
  }

  /** Whether readings of any series from a time on (microseconds) can be deleted, so that rollups alone have them. */
  isDeletedSince(from: number): boolean {
    return this.deletedBefore > from;
  }

  of(series: SeriesName): Limits {
    const limits: Record<Expirable, number> = { raw: this.#expired, minute: 0, hour: 0, day: 0 };
    for (const { kind, before, ...scope } of this.#limits) {
      if (isInScope(series, scope)) limits[kind] = Math.max(limits[kind], before);
    }
    return limits;
  }
}

export function isInScope({ device, metric }: SeriesName, scope: SeriesScope): boolean {
  return isBelow(device, scope.devices) && (scope.metric === undefined || scope.metric === metric);
}

/** Whether a device has this name, or is below the device of this name. Without a name: yes. */
export function isBelow(device: string, name = ''): boolean {
  return name === '' || device === name || device.startsWith(`${name}/`);
}
