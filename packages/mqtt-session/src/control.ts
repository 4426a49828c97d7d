import mqttPacket, { type Packet } from 'mqtt-packet';
import { checkShape } from './control-shape.ts';
import { ProtocolError } from './errors.ts';
import type { Settings } from './options.ts';
import { Reason } from './reasons.ts';
import { type Subscription, wireFilter } from './subscriptions.ts';

// Packets other than PUBLISH and acknowledgements. They are rare, so mqtt-packet encodes and decodes them.

/** Packet types by number, MQTT 5 section 2.1.2. */
export const Type = {
  CONNECT: 1,
  CONNACK: 2,
  PUBLISH: 3,
  PUBACK: 4,
  PUBREL: 6,
  SUBSCRIBE: 8,
  SUBACK: 9,
  UNSUBSCRIBE: 10,
  UNSUBACK: 11,
  PINGREQ: 12,
  PINGRESP: 13,
  DISCONNECT: 14,
  AUTH: 15,
} as const;

/** Decodes one complete packet. Throws ProtocolError when it is malformed. */
export function decodeControl(frame: Buffer, version: 4 | 5): Packet {
  checkShape(frame, version);
  let packet: Packet | null = null;
  let problem: unknown = null;
  const parser = mqttPacket.parser({ protocolVersion: version });
  parser.on('packet', (parsed) => {
    packet = parsed;
  });
  parser.on('error', (error) => {
    problem = error;
  });
  try {
    parser.parse(frame);
  } catch (error) {
    // mqtt-packet reads after the end of some truncated packets.
    problem = error;
  }
  if (problem !== null || packet === null) {
    const what = problem instanceof Error ? problem.message : 'incomplete';
    throw new ProtocolError(Reason.MALFORMED_PACKET, `a malformed packet of type ${frame[0]! >> 4}: ${what}`);
  }
  return packet;
}

// At first use mqtt-packet's generator creates a cache of all 65,536 numbers (19 MB, measured), which only helps
// clients that send many packets. The setting is global to the module, so it is restored.
export function generate(packet: Packet, version: 4 | 5): Buffer {
  const { writeToStream } = mqttPacket;
  const cached = writeToStream.cacheNumbers;
  writeToStream.cacheNumbers = false;
  try {
    return mqttPacket.generate(packet, { protocolVersion: version });
  } finally {
    writeToStream.cacheNumbers = cached;
  }
}

export function encodeConnect(settings: Settings, version: 4 | 5, clean: boolean): Buffer {
  const packet: Packet = {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: version,
    clean,
    clientId: settings.clientId,
    keepalive: settings.keepAliveSeconds,
    ...(settings.username === undefined ? {} : { username: settings.username }),
    ...(settings.password === undefined ? {} : { password: settings.password }),
    ...(version === 4
      ? {}
      : {
          properties: {
            sessionExpiryInterval: settings.sessionExpirySeconds,
            receiveMaximum: settings.receiveMaximum,
            ...announcedMaximum(settings),
            topicAliasMaximum: 0,
            requestProblemInformation: true,
          },
        }),
  };
  return generate(packet, version);
}

// A broker silently drops messages that are larger than an announced maximum. Without the announcement they arrive
// and are reported. Only WebSocket needs the announcement, because `ws` buffers whole messages.
function announcedMaximum({ endpoint, maximumPacketSize }: Settings): { maximumPacketSize?: number } {
  return endpoint.transport === 'ws' || endpoint.transport === 'wss' ? { maximumPacketSize } : {};
}

export function encodeSubscribe(
  messageId: number,
  subscriptions: readonly Subscription[],
  version: 4 | 5,
): Buffer {
  const entries = subscriptions.map((subscription) => ({
    topic: wireFilter(subscription),
    qos: subscription.qos,
    nl: false,
    rap: subscription.retainAsPublished ?? false,
    rh: subscription.retainHandling ?? 1,
  }));
  return generate({ cmd: 'subscribe', messageId, subscriptions: entries }, version);
}

export function encodeUnsubscribe(messageId: number, filters: readonly string[], version: 4 | 5): Buffer {
  return generate({ cmd: 'unsubscribe', messageId, unsubscriptions: [...filters] }, version);
}

/** Encodes PUBLISH with QoS 0, or with QoS 1 when there is a packet id. */
export function encodePublish(
  topic: string,
  payload: Uint8Array,
  version: 4 | 5,
  { messageId, retain = false }: { readonly messageId?: number; readonly retain?: boolean } = {},
): Buffer {
  const { buffer, byteOffset, length } = payload;
  const bytes = Buffer.from(buffer, byteOffset, length);
  const packet = { cmd: 'publish', topic, payload: bytes, dup: false, retain } as const;
  return generate(
    messageId === undefined ? { ...packet, qos: 0 } : { ...packet, qos: 1, messageId },
    version,
  );
}

export const PINGREQ: Buffer = generate({ cmd: 'pingreq' }, 5);

/** Encodes DISCONNECT. Under 3.1.1 it has no reason code. */
export function encodeDisconnect(reasonCode: number, version: 4 | 5): Buffer {
  return generate({ cmd: 'disconnect', reasonCode }, version);
}
