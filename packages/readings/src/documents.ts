import type { Quality, Reading, ReadingValue } from './reading.ts';
import { formatTime } from './time.ts';

// The JSON documents that services exchange and the API publishes: shapes only, so that both ends agree.

/** A reading in an HTTP body; times are ISO 8601 with microseconds, `boot` and `seq` only where stamped. */
export interface ReadingDocument {
  readonly device: string;
  readonly metric: string;
  readonly time: string;
  readonly value: ReadingValue;
  readonly received: string;
  readonly quality: Quality;
  readonly boot?: string;
  readonly seq?: number;
}

export function toReadingDocument(reading: Reading): ReadingDocument {
  return {
    device: reading.device,
    metric: reading.metric,
    time: formatTime(reading.time),
    value: reading.value,
    received: formatTime(reading.received),
    quality: reading.quality,
    ...(reading.boot === null ? {} : { boot: reading.boot }),
    ...(reading.seq === null ? {} : { seq: reading.seq }),
  };
}

/** Where every reading that came in is now: received = stored + duplicate + quarantined + spooled + inFlight. */
export interface ReadingCounts {
  readonly received: number;
  readonly stored: number;
  readonly duplicate: number;
  readonly quarantined: number;
  readonly spooled: number;
  readonly inFlight: number;
}

/** True when every reading received is accounted for. */
export function isBalanced(counts: ReadingCounts): boolean {
  const { received, stored, duplicate, quarantined, spooled, inFlight } = counts;
  return received === stored + duplicate + quarantined + spooled + inFlight;
}

/** Median and tail of one pipeline stage in the last while, seconds; null when no reading passed it. */
export interface StageDocument {
  readonly count: number;
  readonly p50: number | null;
  readonly p99: number | null;
}

export type Stage = 'travel' | 'queue' | 'store' | 'ack' | 'end_to_end';

/** What one stamping device did not deliver: inclusive ranges of sequence numbers of one boot. */
export interface GapDocument {
  readonly device: string;
  readonly boot: string;
  readonly highest: number;
  readonly missing: number;
  /** The highest of the missing ranges. */
  readonly ranges: readonly (readonly [number, number])[];
  /** Numbers that were missing below what is still followed; they are not in `missing`. */
  readonly givenUp: number;
  readonly duplicates: number;
}

/** One ingest process's account of itself, `GET /ledger` on its port. */
export interface LedgerDocument {
  readonly instance: string;
  /** When the process began, and its counts with it. */
  readonly since: string;
  readonly backend: string;
  readonly readings: ReadingCounts;
  readonly balanced: boolean;
  readonly messages: { readonly received: number; readonly retainedSkipped: number };
  readonly mqtt: { readonly connected: boolean; readonly reconnects: number };
  readonly oldestUnstoredSeconds: number;
  /** What `stages` covers: the last minute, or less soon after the start. */
  readonly stageSeconds: number;
  readonly stages: Readonly<Record<Stage, StageDocument>>;
  /** Sequence numbers missing over all stamping devices, and the devices that miss or repeat any. */
  readonly gaps: {
    readonly devices: number;
    readonly missing: number;
    readonly duplicates: number;
    /** Numbers that were missing when their detail was given up to bound memory; some may have come since. */
    readonly givenUp: number;
    /** Readings that were stored, but not compared with others for want of room or detail. */
    readonly unjudged: number;
    readonly list: readonly GapDocument[];
    /** True when the list was cut to its bound, or some detail was given up or had no room. */
    readonly truncated: boolean;
  };
}

/** A message that could not be stored, kept for a person to look at. */
export interface QuarantineDocument {
  /** `<instance>.<number>`. */
  readonly id: string;
  readonly received: string;
  /** The way by which it came in. */
  readonly source: 'mqtt' | 'http';
  /** The MQTT topic; for HTTP the request line. */
  readonly topic: string;
  readonly reason: string;
  readonly detail: string;
  readonly position: string | null;
  /** Bytes of payload. */
  readonly size: number;
  /** Readings it stands for in the ledger. */
  readonly readings: number;
  /** True in a list where topic and detail are cut: the item itself has them whole. */
  readonly shortened?: true;
  /** Base64; only when one item is asked for. */
  readonly payload?: string;
}

/** What became of a step through quarantine that replays or discards; both have `next`, where to go on. */
export interface QuarantineStepDocument {
  /** Messages that were tried or discarded. */
  readonly tried: number;
  /** Those that left quarantine. */
  readonly removed: number;
  /** Readings of them that are stored now, and that were stored before. */
  readonly stored: number;
  readonly duplicate: number;
  /** Give it as `cursor` with the same filter; null at the end. */
  readonly next: string | null;
}

/** What became of one HTTP delivery: received = stored + duplicate + quarantined. */
export interface DeliveryDocument {
  readonly received: number;
  readonly stored: number;
  readonly duplicate: number;
  readonly quarantined: number;
}

/** A line of the live feed: readings just committed, or how many this listener was too slow for. */
export type LiveLine =
  | { readonly id: string; readonly readings: readonly ReadingDocument[] }
  | { readonly id: string; readonly missed: number };
