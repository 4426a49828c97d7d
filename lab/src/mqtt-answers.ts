import { connect } from 'node:net';

// MQTT 3.1.1, clean session, no client id: any CONNACK shows that the broker is ready.
const CONNECT = Buffer.from([0x10, 12, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 10, 0, 0]);

/** Whether a broker on 127.0.0.1 answers CONNECT, with any result. */
export function answersConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 1000 });
    const finish = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.on('connect', () => socket.write(CONNECT));
    socket.on('data', (data) => finish(data[0] === 0x20));
    socket.on('timeout', () => finish(false));
    socket.on('error', () => finish(false));
    socket.on('close', () => finish(false));
  });
}
