import type { IConnectPacket } from 'mqtt-packet';
import { decodeControl, generate } from '../control.ts';
import { ProtocolError } from '../errors.ts';
import type { QoS } from '../publish.ts';
import { Reason } from '../reasons.ts';

/** A message that a client leaves with the server, which publishes it when the connection ends without DISCONNECT. */
export interface Will {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly delaySeconds: number;
}

/** A CONNECT packet, checked. */
export interface ConnectRequest {
  /** 4: MQTT 3.1.1, and 3.1, which differs in the name of the protocol only. */
  readonly version: 4 | 5;
  /** Empty: the server assigns one. */
  readonly clientId: string;
  readonly cleanStart: boolean;
  /** 0: none. */
  readonly keepAliveSeconds: number;
  /** How long the client needs its session after the connection. Infinity: for ever. */
  readonly sessionExpirySeconds: number;
  readonly username: string | null;
  readonly password: Buffer | null;
  readonly will: Will | null;
  /** Bytes of the largest packet that the client takes. Infinity: it stated none. */
  readonly maximumPacketSize: number;
  /** Whether the client takes reason strings, and has room for them. */
  readonly takesReasonStrings: boolean;
}

/** A CONNECT that is answered with a refusal. */
export class Refusal extends Error {
  /** MQTT 5 reason code. */
  readonly code: number;
  /** The version of the client, or a higher one that is not supported. */
  readonly version: number;

  constructor(code: number, version: number, message: string) {
    super(message);
    this.code = code;
    this.version = version;
  }
}

/** Bytes of a client id. Identifiers are kept as long as their sessions. */
const MAX_CLIENT_ID = 256;
/** Names of the protocol: MQTT 5 and 3.1.1, section 3.1.2.1; MQTT 3.1, section 3.1. A bridge sets a bit before MQTT 5. */
const NAMES: Readonly<Record<number, string>> = { 3: 'MQIsdp', 4: 'MQTT', 5: 'MQTT' };
const BRIDGE_BIT = 0x80;
const FOREVER = 0xffffffff;
/** A client that takes smaller packets gets no reason strings (MQTT 5, section 3.1.2.11.4). */
const ROOM_FOR_REASON = 256;

/**
 * Decodes CONNECT (MQTT 3.1.1 and 5, section 3.1).
 *
 * @throws {ProtocolError} when it is malformed, and not MQTT 5
 * @throws {Refusal} when it is answered with a reason
 */
export function decodeConnect(frame: Buffer, body: number): ConnectRequest {
  if (frame[0] !== 0x10) throw new ProtocolError(Reason.MALFORMED_PACKET, 'a CONNECT with reserved bits');
  const version = checkVersion(frame, body);
  try {
    return requestOf(decodeControl(frame, 5) as IConnectPacket, version);
  } catch (error) {
    // MQTT 5, section 4.13.1: CONNACK can have the reason.
    if (!(error instanceof ProtocolError) || version === 4) throw error;
    throw new Refusal(error.reasonCode, version, error.message);
  }
}

function requestOf(packet: IConnectPacket, version: 4 | 5): ConnectRequest {
  const { clientId, clean = false, keepalive = 0, username = null, properties = {} } = packet;
  const password = packet.password === undefined ? null : Buffer.from(packet.password);
  if (properties.authenticationMethod !== undefined) {
    const method =
      'enhanced authentication is not supported: use a user name and a password, or a certificate';
    throw new Refusal(Reason.BAD_AUTHENTICATION_METHOD, version, method);
  }
  if (Buffer.byteLength(clientId) > MAX_CLIENT_ID)
    throw new Refusal(Reason.BAD_CLIENT_ID, version, `a client id has at most ${MAX_CLIENT_ID} bytes`);
  if (clientId === '' && version === 4 && !clean)
    throw new Refusal(Reason.BAD_CLIENT_ID, version, 'an empty client id needs a clean session');
  const room = properties.maximumPacketSize ?? Number.POSITIVE_INFINITY;
  return {
    version,
    clientId,
    cleanStart: clean,
    keepAliveSeconds: keepalive,
    sessionExpirySeconds:
      version === 5 ? expiry(properties.sessionExpiryInterval ?? 0) : clean ? 0 : Number.POSITIVE_INFINITY,
    username,
    password,
    will: willOf(packet),
    maximumPacketSize: room,
    takesReasonStrings:
      version === 5 && properties.requestProblemInformation !== false && room >= ROOM_FOR_REASON,
  };
}

/** A Session Expiry Interval in seconds (MQTT 5, section 3.1.2.11.2). */
export function expiry(interval: number): number {
  return interval === FOREVER ? Number.POSITIVE_INFINITY : interval;
}

function checkVersion(frame: Buffer, body: number): 4 | 5 {
  const at = body + 2 + (body + 2 <= frame.length ? frame.readUInt16BE(body) : 0);
  const name = frame.toString('latin1', body + 2, at);
  const byte = frame[at];
  if (byte === undefined || (name !== 'MQTT' && name !== 'MQIsdp'))
    throw new ProtocolError(Reason.MALFORMED_PACKET, 'a CONNECT without the name of the protocol');
  const version = byte & ~BRIDGE_BIT;
  if (NAMES[version] === name && byte !== (BRIDGE_BIT | 5)) return version === 5 ? 5 : 4;
  throw new Refusal(Reason.UNSUPPORTED_VERSION, version, `${name} version ${byte}: use 3.1.1 or 5`);
}

function willOf({ will }: IConnectPacket): Will | null {
  if (will === undefined) return null;
  const { topic, payload, qos = 0 } = will;
  if (topic === '' || /[+#]/.test(topic))
    throw new ProtocolError(Reason.TOPIC_NAME_INVALID, 'a will with a topic that is empty or has wildcards');
  const delaySeconds = will.properties?.willDelayInterval ?? 0;
  // A copy, because the packet can be a view of a larger buffer.
  return { topic, payload: Buffer.from(payload), qos, delaySeconds };
}

/** 3.1.1 return codes of a refusal (table 3.1) by MQTT 5 reason codes. Others are "server unavailable". */
const RETURN_CODES: Readonly<Record<number, number>> = {
  [Reason.UNSUPPORTED_VERSION]: 1,
  [Reason.BAD_CLIENT_ID]: 2,
  [Reason.BAD_CREDENTIALS]: 4,
  [Reason.NOT_AUTHORIZED]: 5,
};
const UNAVAILABLE = 3;

/** CONNACK with a refusal, in the format of the client's version. */
export function encodeRefusal({ code, version, message }: Refusal, takesReasonStrings: boolean): Buffer {
  if (version < 5) {
    return generate(
      { cmd: 'connack', sessionPresent: false, returnCode: RETURN_CODES[code] ?? UNAVAILABLE },
      4,
    );
  }
  const properties = takesReasonStrings ? { properties: { reasonString: message } } : {};
  return generate({ cmd: 'connack', sessionPresent: false, reasonCode: code, ...properties }, 5);
}

/** What a server announces to a client of MQTT 5 (section 3.2.2.3). */
export interface Announcement {
  readonly receiveMaximum: number;
  readonly maximumPacketSize: number;
  readonly topicAliasMaximum: number;
  /** Absent: the one that the client requested. */
  readonly sessionExpiryInterval?: number;
  readonly assignedClientIdentifier?: string;
}

/** CONNACK for a client that is accepted. */
export function encodeAccepted(version: 4 | 5, sessionPresent: boolean, announced: Announcement): Buffer {
  if (version === 4) return generate({ cmd: 'connack', sessionPresent, returnCode: 0 }, 4);
  const properties = {
    ...announced,
    subscriptionIdentifiersAvailable: false,
    sharedSubscriptionAvailable: false,
  };
  return generate({ cmd: 'connack', sessionPresent, reasonCode: 0, properties }, 5);
}
