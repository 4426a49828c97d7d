/**
 * Receives what a payload contains besides readings. A decoder calls it while it decodes, so it can also receive
 * notes of a payload that is refused in the end. All functions must be cheap and must not throw. A caller without
 * interest leaves it out of the context, and decoders then do no work for it.
 */
export interface Notes {
  /** The unit of a metric of a device, as the payload or the mapping states it: `Cel`, `%RH`. Called for each value. */
  unit(device: string, metric: string, unit: string): void;
  /**
   * A field that was skipped while the rest of the payload was decoded, or whose value is not what it seems: a text that
   * can be a number, a number that was rounded, or a field that is there several times.
   *
   * @param field its path in the payload, `update.state`
   * @param why a short reason for people, from a small set of texts: `it is null`
   */
  ignored(field: string, why: string): void;
  /**
   * A field that was used with an assumption, such as the zone of a local time.
   *
   * @param field its path in the payload
   * @param why what was assumed and how to state it, from a small set of texts
   * @param name the value of the field, when it can name the sender of values
   */
  doubt?(field: string, why: string, name?: DoubtfulName): void;
}

/** A name that is in no name of a series. When it changes, several senders of values are one series. */
export interface DoubtfulName {
  /** Of the values beside it. */
  readonly device: string;
  readonly text: string;
}
