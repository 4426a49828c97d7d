/** Error codes with their meaning to the application. A `permanent` error ends `connect()` at once. */
export const SESSION_ERROR_CODES = {
  MISCONFIGURED: { permanent: true, meaning: 'an option is wrong: fix it and start again' },
  BAD_CREDENTIALS: { permanent: true, meaning: 'the broker does not accept this user name and password' },
  NOT_AUTHORIZED: { permanent: true, meaning: 'the broker does not authorize this client' },
  BAD_CLIENT_ID: { permanent: true, meaning: 'the broker does not accept this client id' },
  UNSUPPORTED_VERSION: { permanent: true, meaning: 'the broker does not support this MQTT version' },
  TLS: { permanent: true, meaning: 'no trusted TLS connection is possible: fix certificates or scheme' },
  SUBSCRIPTION_REFUSED: { permanent: true, meaning: 'the broker refuses at least one topic filter' },
  PUBLISH_REFUSED: { permanent: true, meaning: 'the broker refuses a message of this client' },
  REFUSED: { permanent: true, meaning: 'the broker refuses this client permanently' },
  UNREACHABLE: { permanent: false, meaning: 'no connection can be made now: the session keeps trying' },
  BUSY: { permanent: false, meaning: 'the broker accepts no clients now: the session keeps trying' },
  TIMEOUT: { permanent: false, meaning: 'the broker does not answer: the session reconnects' },
  CONNECTION_LOST: { permanent: false, meaning: 'the connection ended: the session reconnects' },
  PROTOCOL: { permanent: false, meaning: 'the broker violated the protocol: the session reconnects' },
  TAKEN_OVER: { permanent: false, meaning: 'another client uses the same client id: give each its own' },
  CLOSED: { permanent: true, meaning: 'the session is closed: a mistake of the caller' },
} as const;

export type SessionErrorCode = keyof typeof SESSION_ERROR_CODES;

export interface SessionErrorOptions {
  readonly cause?: unknown;
  /** How to fix it, as one sentence. */
  readonly hint?: string;
  /** The MQTT 5 reason code or 3.1.1 return code from the broker, if any. */
  readonly reasonCode?: number;
}

/** The only error type that a session rejects with or reports. */
export class MqttSessionError extends Error {
  override readonly name = 'MqttSessionError';
  readonly code: SessionErrorCode;
  readonly hint: string | null;
  readonly reasonCode: number | null;

  constructor(code: SessionErrorCode, message: string, options: SessionErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? null;
    this.reasonCode = options.reasonCode ?? null;
  }

  /** Whether a retry cannot help until someone fixes the cause. */
  get permanent(): boolean {
    return SESSION_ERROR_CODES[this.code].permanent;
  }
}

/** Input that violates the protocol; `reasonCode` is sent to the broker in DISCONNECT (MQTT 5, section 2.4). */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly reasonCode: number;

  constructor(reasonCode: number, message: string) {
    super(message);
    this.reasonCode = reasonCode;
  }
}
