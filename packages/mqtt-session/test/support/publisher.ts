import { once } from 'node:events';
import { connect } from 'node:net';
import mqtt, { type IClientPublishOptions } from 'mqtt';
import mqttPacket from 'mqtt-packet';

/** Publishes over one MQTT.js connection. Resolves when the broker has acknowledged all messages (QoS 1 and 2). */
export async function publish(
  url: string,
  messages: readonly (readonly [topic: string, payload: string | Buffer, options?: IClientPublishOptions])[],
): Promise<void> {
  const client = await mqtt.connectAsync(url, { protocolVersion: 4, reconnectPeriod: 0 });
  try {
    for (const [topic, payload, options] of messages) {
      await client.publishAsync(topic, payload, { qos: 1, ...options });
    }
  } finally {
    await client.endAsync();
  }
}

const WINDOW = 2000;

/** Publishes the payloads 0 to count - 1 with QoS 1 at full speed. Resolves when the broker has acknowledged all. */
export async function publishNumbers(port: number, topic: string, count: number): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  const parser = mqttPacket.parser();
  const done = Promise.withResolvers<void>();
  let sent = 0;
  let confirmed = 0;
  const pump = (): void => {
    const batch: Buffer[] = [];
    for (; sent < count && sent - confirmed < WINDOW; sent += 1) {
      const messageId = (sent % 65535) + 1;
      const base = { cmd: 'publish' as const, qos: 1 as const, dup: false, retain: false };
      batch.push(mqttPacket.generate({ ...base, topic, payload: String(sent), messageId }));
    }
    if (batch.length > 0) socket.write(Buffer.concat(batch));
  };
  parser.on('packet', (packet) => {
    if (packet.cmd === 'puback') confirmed += 1;
    if (confirmed === count) done.resolve();
  });
  socket.on('data', (data) => {
    parser.parse(data);
    pump();
  });
  socket.on('error', done.reject);
  socket.on('close', () => done.reject(new Error('the broker closed the publisher')));
  socket.write(mqttPacket.generate({ cmd: 'connect', clientId: '', clean: true, keepalive: 0 }));
  try {
    await done.promise;
  } finally {
    socket.end(mqttPacket.generate({ cmd: 'disconnect' }));
    if (!socket.closed) await once(socket, 'close');
  }
}
