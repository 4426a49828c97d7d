import type { Reading } from './reading.ts';

/** Why a payload could not be read: a closed set, for it is a metric label. */
export type DecodeReason =
  | 'unknown_topic'
  | 'empty_payload'
  | 'malformed'
  | 'too_large'
  | 'invalid_value'
  | 'invalid_time'
  | 'invalid_name'
  | 'too_many_readings'
  | 'unsupported';

/**
 * A payload that cannot be decoded, as data: codecs return it and never throw, since bad bytes are daily
 * business at the edge and not exceptional.
 */
export class DecodeError {
  readonly reason: DecodeReason;
  /** One sentence for a person: what was found, where, and what would have been right. */
  readonly message: string;
  /** Byte offset or record number where reading stopped, when known: `byte 17`, `record 3 of 5`. */
  readonly position: string | null;

  constructor(reason: DecodeReason, message: string, position: string | null = null) {
    this.reason = reason;
    this.message = message;
    this.position = position;
  }

  /** The same error, with the place where it was met. */
  at(position: string): DecodeError {
    return new DecodeError(this.reason, this.message, position);
  }

  toString(): string {
    return this.position === null ? this.message : `${this.message} (at ${this.position})`;
  }
}

/** What the topic and the moment already say about the readings in a payload; its names are checked. */
export interface DecodeContext {
  /** From the topic; `null` when the payload must name it. */
  readonly device: string | null;
  /** From the topic; `null` when the payload must name it. */
  readonly metric: string | null;
  /** Microseconds since the Unix epoch when the payload arrived. */
  readonly received: number;
}

/**
 * Bytes to readings, or the reason why not; all of a payload or nothing. Pure: no I/O, no throw, work and
 * memory linear in the payload.
 */
export type Decode = (payload: Uint8Array, context: DecodeContext) => readonly Reading[] | DecodeError;
