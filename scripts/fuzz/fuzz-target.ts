/** Code that reads input of strangers, and the rules that its results obey. */
export interface FuzzTarget {
  readonly name: string;
  /** Valid inputs, which the fuzzer changes. */
  readonly corpus: readonly Uint8Array[];
  /** Pieces that have a meaning in this format. */
  readonly tokens: readonly Uint8Array[];
  /**
   * Processes an input and checks the result.
   *
   * @returns the kind of result: inputs with new kinds are changed further
   * @throws when the code throws, or its result breaks a rule
   */
  readonly run: (input: Buffer) => string;
}

/** Largest input, bytes. */
export const MAX_INPUT_BYTES = 64 * 1024;
