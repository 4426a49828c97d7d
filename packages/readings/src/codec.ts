import type { Notes } from './notes.ts';
import type { Reading } from './reading.ts';

/** Why a payload could not be decoded. The set is closed, because it is a metric label. */
export type DecodeReason =
  | 'unknown_topic'
  | 'empty_payload'
  | 'malformed'
  | 'too_large'
  | 'invalid_value'
  | 'invalid_time'
  | 'invalid_name'
  | 'too_many_readings'
  | 'unsupported'
  | 'no_birth';

/**
 * A payload that cannot be decoded. Codecs return this value and do not throw, because bad payloads are a normal
 * case.
 */
export class DecodeError {
  readonly reason: DecodeReason;
  /** One sentence for people: what was found, where, and what is valid. */
  readonly message: string;
  /** Byte offset or record number where decoding stopped, when known: `byte 17`, `record 3 of 5`. */
  readonly position: string | null;

  constructor(reason: DecodeReason, message: string, position: string | null = null) {
    this.reason = reason;
    this.message = message;
    this.position = position;
  }

  /** The same error with a position. */
  at(position: string): DecodeError {
    return new DecodeError(this.reason, this.message, position);
  }

  toString(): string {
    return this.position === null ? this.message : `${this.message} (at ${this.position})`;
  }
}

/** What is known about the readings of a payload from its topic and arrival. The names are valid. */
export interface DecodeContext {
  /** From the topic; `null` when the payload must name it. */
  readonly device: string | null;
  /** From the topic; `null` when the payload must name it. */
  readonly metric: string | null;
  /**
   * The device of values that the payload names itself: every level that the topic template names is in it, also those of
   * the metric. An error when that is no valid device. Undefined: such values have `device`, and the levels of the metric
   * are dropped, as before version 0.3.
   */
  readonly full?: string | DecodeError | null | undefined;
  /** Microseconds since the Unix epoch when the payload arrived. */
  readonly received: number;
  /** The levels of the topic that a template names besides device and metric: `{node}`. */
  readonly captured?: Readonly<Record<string, string>> | null | undefined;
  /** The MQTT topic, for formats that read it. */
  readonly topic?: string;
  /** Receives units and skipped fields. */
  readonly notes?: Notes | undefined;
  /** Receives what sensors declare about the readings that they can send again. Default: it is ignored. */
  readonly declared?: Declared | undefined;
}

/**
 * A declaration of a sensor, `{"boot": "a1", "kept": 212}`: it can no longer send the numbers of a boot below `kept`.
 *
 * @param kept null: none of them
 */
export type Declared = (device: string, boot: string, kept: number | null) => void;

/**
 * Decodes a payload to readings or an error; it never returns a part of a payload. The result is empty when the
 * payload has nothing to store, such as `unavailable`. Pure: no I/O, no exceptions; time
 * and memory are linear in the payload.
 *
 * @example
 * const result = formats.auto!(payload, { device: 'site-3/boiler', metric: 'temperature', received: now() });
 * if (result instanceof DecodeError) console.error(result.reason, result.message);
 * else for (const { device, metric, time, value } of result) console.log(device, metric, time, value);
 */
export type Decode = (payload: Uint8Array, context: DecodeContext) => readonly Reading[] | DecodeError;

/**
 * The decoder, with an error in place of an exception. An exception would end the connection, and a broker would then send
 * the message again for ever.
 */
export function withoutExceptions(decode: Decode): Decode {
  return (payload, context) => {
    try {
      return decode(payload, context);
    } catch (error) {
      return decoderFailed(error);
    }
  };
}

/** What is returned for an exception, which is a mistake of the decoder. */
export function decoderFailed(error: unknown): DecodeError {
  const message = `the decoder failed (${error}): this is a mistake in Tidegauge, so please report it with this payload`;
  return new DecodeError('unsupported', message);
}

/** What a stateful decoder makes of a message. */
export interface StatefulResult {
  readonly decoded: readonly Reading[] | DecodeError;
  /** The payload to keep: `replay` decodes it to the same readings without the state of this moment. */
  readonly payload: Uint8Array;
  /** A message to publish at QoS 0; the sender answers it. */
  readonly reply: { readonly topic: string; readonly payload: Uint8Array } | null;
}

/**
 * Decodes messages whose meaning depends on earlier messages. One decoder must receive all messages of a route, in the
 * order of their arrival. Its memory is bounded. No exceptions.
 */
export interface StatefulDecoder {
  /** Decodes a message that has just arrived, once. */
  decode(payload: Uint8Array, context: DecodeContext): StatefulResult;
  /** Decodes a message that was kept in the spool or in quarantine. It changes no state. */
  readonly replay: Decode;
  /** Removes what earlier messages told, because others may have been missed since. */
  forget(): void;
}
