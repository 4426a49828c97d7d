import { MqttSessionError, type SessionErrorCode } from './errors.ts';

/** Reason codes this package names in its own code. */
export const Reason = {
  SUCCESS: 0x00,
  MALFORMED_PACKET: 0x81,
  PROTOCOL_ERROR: 0x82,
  IMPLEMENTATION_ERROR: 0x83,
  UNSUPPORTED_VERSION: 0x84,
  BAD_CLIENT_ID: 0x85,
  BAD_CREDENTIALS: 0x86,
  NOT_AUTHORIZED: 0x87,
  BUSY: 0x89,
  SHUTTING_DOWN: 0x8b,
  BAD_AUTHENTICATION_METHOD: 0x8c,
  KEEP_ALIVE_TIMEOUT: 0x8d,
  SESSION_TAKEN_OVER: 0x8e,
  TOPIC_NAME_INVALID: 0x90,
  PACKET_ID_NOT_FOUND: 0x92,
  RECEIVE_MAXIMUM_EXCEEDED: 0x93,
  TOPIC_ALIAS_INVALID: 0x94,
  PACKET_TOO_LARGE: 0x95,
  QUOTA_EXCEEDED: 0x97,
} as const;

// MQTT 5, table 2-6.
const NAMES: Readonly<Record<number, string>> = {
  0: 'Success',
  4: 'Disconnect with Will Message',
  16: 'No matching subscribers',
  17: 'No subscription existed',
  24: 'Continue authentication',
  25: 'Re-authenticate',
  128: 'Unspecified error',
  129: 'Malformed Packet',
  130: 'Protocol Error',
  131: 'Implementation specific error',
  132: 'Unsupported Protocol Version',
  133: 'Client Identifier not valid',
  134: 'Bad User Name or Password',
  135: 'Not authorized',
  136: 'Server unavailable',
  137: 'Server busy',
  138: 'Banned',
  139: 'Server shutting down',
  140: 'Bad authentication method',
  141: 'Keep Alive timeout',
  142: 'Session taken over',
  143: 'Topic Filter invalid',
  144: 'Topic Name invalid',
  145: 'Packet Identifier in use',
  146: 'Packet Identifier not found',
  147: 'Receive Maximum exceeded',
  148: 'Topic Alias invalid',
  149: 'Packet too large',
  150: 'Message rate too high',
  151: 'Quota exceeded',
  152: 'Administrative action',
  153: 'Payload format invalid',
  154: 'Retain not supported',
  155: 'QoS not supported',
  156: 'Use another server',
  157: 'Server moved',
  158: 'Shared Subscriptions not supported',
  159: 'Connection rate exceeded',
  160: 'Maximum connect time',
  161: 'Subscription Identifiers not supported',
  162: 'Wildcard Subscriptions not supported',
};

// MQTT 3.1.1, table 3.1, as the equivalent MQTT 5 codes.
const RETURN_CODES: Readonly<Record<number, number>> = { 1: 0x84, 2: 0x85, 3: 0x88, 4: 0x86, 5: 0x87 };

/** `Session taken over (0x8e)`, followed by the broker's reason string if there is one. */
export function describeReason(code: number, reasonString?: string): string {
  const name = `${NAMES[code] ?? 'Unknown reason'} (0x${code.toString(16).padStart(2, '0')})`;
  return reasonString === undefined ? name : `${name}: ${reasonString}`;
}

/** The broker's refusal of a connection. */
export interface Refusal {
  /**
   * CONNACK code: an MQTT 5 reason code or a 3.1.1 return code, which a 3.1.1 broker also sends in reply to MQTT 5.
   */
  readonly code: number;
  readonly reasonString?: string | undefined;
  readonly serverReference?: string | undefined;
}

interface RefusalKind {
  readonly code: SessionErrorCode;
  readonly hint: string;
}

const REFUSALS: Readonly<Record<number, RefusalKind>> = {
  132: { code: 'UNSUPPORTED_VERSION', hint: "set protocolVersion to 4 or 'auto'" },
  133: { code: 'BAD_CLIENT_ID', hint: 'use another clientId; some brokers take 23 letters and digits only' },
  134: { code: 'BAD_CREDENTIALS', hint: 'check username and password' },
  135: { code: 'NOT_AUTHORIZED', hint: "check username and password, and the broker's access rules" },
  138: { code: 'REFUSED', hint: "lift the ban in the broker's configuration" },
  140: {
    code: 'REFUSED',
    hint: 'enhanced authentication is not supported: use username and password, or TLS',
  },
  149: { code: 'REFUSED', hint: "shorten clientId or password, or raise the broker's packet limit" },
  157: { code: 'REFUSED', hint: 'point url at the new address' },
};

/** The 3.1.1 return code or MQTT 5 reason code of a CONNACK, as an MQTT 5 reason code. */
export function toReasonCode(connackCode: number): number {
  return RETURN_CODES[connackCode] ?? connackCode;
}

/** The error for a CONNACK with a refusal. */
export function refusalError(server: string, refusal: Refusal): MqttSessionError {
  const reasonCode = toReasonCode(refusal.code);
  const kind = REFUSALS[reasonCode];
  const elsewhere = refusal.serverReference === undefined ? '' : `, it names ${refusal.serverReference}`;
  return new MqttSessionError(
    kind?.code ?? 'BUSY',
    `${server} refused the connection: ${describeReason(reasonCode, refusal.reasonString)}${elsewhere}`,
    { reasonCode, ...(kind === undefined ? {} : { hint: kind.hint }) },
  );
}
