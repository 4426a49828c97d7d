/** What a failed session means to its application; `permanent` ones end `connect()` at once. */
export const SESSION_ERROR_CODES = {
  MISCONFIGURED: { permanent: true, meaning: 'an option is wrong: mend it and start again' },
  BAD_CREDENTIALS: { permanent: true, meaning: 'the broker does not know this user name and password' },
  NOT_AUTHORIZED: { permanent: true, meaning: 'the broker does not let this client in' },
  BAD_CLIENT_ID: { permanent: true, meaning: 'the broker does not accept this client id' },
  UNSUPPORTED_VERSION: { permanent: true, meaning: 'the broker does not speak this MQTT version' },
  TLS: { permanent: true, meaning: 'no trusted TLS connection can be made: mend certificates or scheme' },
  SUBSCRIPTION_REFUSED: { permanent: true, meaning: 'the broker refuses at least one topic filter' },
  REFUSED: { permanent: true, meaning: 'the broker refuses this client for good' },
  UNREACHABLE: { permanent: false, meaning: 'no connection can be made now: the session keeps trying' },
  BUSY: { permanent: false, meaning: 'the broker takes nobody now: the session keeps trying' },
  TIMEOUT: { permanent: false, meaning: 'the broker does not answer: the session reconnects' },
  CONNECTION_LOST: { permanent: false, meaning: 'the connection ended: the session reconnects' },
  PROTOCOL: { permanent: false, meaning: 'the broker broke the protocol: the session reconnects' },
  TAKEN_OVER: { permanent: false, meaning: 'another client uses the same client id: give each its own' },
  CLOSED: { permanent: true, meaning: 'the session is closed: a mistake of the caller' },
} as const;

export type SessionErrorCode = keyof typeof SESSION_ERROR_CODES;

export interface SessionErrorOptions {
  readonly cause?: unknown;
  /** How to mend it, as one sentence. */
  readonly hint?: string;
  /** MQTT 5 reason code (or 3.1.1 return code) that the broker gave, if it gave one. */
  readonly reasonCode?: number;
}

/** The only error that a session rejects with or reports. */
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

  /** True when trying again cannot help until somebody mends something. */
  get permanent(): boolean {
    return SESSION_ERROR_CODES[this.code].permanent;
  }
}

/** Input that breaks the protocol; `reasonCode` is what DISCONNECT tells the broker (MQTT 5, section 2.4). */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly reasonCode: number;

  constructor(reasonCode: number, message: string) {
    super(message);
    this.reasonCode = reasonCode;
  }
}
