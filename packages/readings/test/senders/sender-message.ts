/**
 * A message that a sender publishes, and the readings that a person expects of it. The readings were written from the
 * sender's documentation, not from what the decoder returns.
 */
export interface SenderMessage {
  /** Where the message is published: a document, or a repository and a path in it, and what is changed in it. */
  readonly source: string;
  /** The sender, for messages without a preset. */
  readonly sender?: string;
  readonly topic: string;
  readonly payload: string;
  /** The preset of the route; without it, the route has `auto`, or the mapping. */
  readonly preset?: string;
  /** The topic template of the route; without it, those of the preset. */
  readonly template?: string;
  /** The mapping of the route. */
  readonly mapping?: object;
  /** The time of all readings, ISO 8601 with microseconds; without it, the time of receipt. */
  readonly time?: string;
  readonly readings: readonly ExpectedReading[];
  /** The units of some metrics, by their names in the SenML registry. */
  readonly units?: Readonly<Record<string, string>>;
  /** Metrics that have no unit. */
  readonly noUnits?: readonly string[];
  /** Fields that must be reported as ignored. Others may be too. */
  readonly ignored?: readonly string[];
  /**
   * What `auto` makes of the payload, with the same names from the topic and no settings. `same`: these readings.
   * `values`: these values at this time, with other names, further fields, or words instead of 1 and 0. `no`: neither.
   */
  readonly auto?: 'same' | 'values' | 'no';
}

/** Device, metric and value, and the time if it differs from that of the message. */
export type ExpectedReading =
  | readonly [device: string, metric: string, value: number | string]
  | readonly [device: string, metric: string, value: number | string, time: string];
