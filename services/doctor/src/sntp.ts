import { createSocket } from 'node:dgram';
import type { Comparison } from './clock.ts';

const PORT = 123;
const ANSWER_MS = 3000;
/** Seconds between 1900, NTP's epoch, and 1970. */
const EPOCH = 2_208_988_800;
const CLIENT = 3;
const SERVER = 4;
const UNSYNCHRONISED = 3;
const FRACTION = 2 ** 32;

/**
 * Queries an NTP server once (SNTP, RFC 4330, section 5). Does not reject: without an answer within 3 s the
 * comparison has no offset.
 *
 * @param server `host` or `host:port`
 */
export function queryNtp(server: string): Promise<Comparison> {
  const source = `NTP server ${server}`;
  const [, host, port = String(PORT)] = /^(.+?)(?::(\d+))?$/.exec(server) ?? [];
  const socket = createSocket(host!.includes(':') ? 'udp6' : 'udp4');
  return new Promise((resolve) => {
    const finish = (result: Omit<Comparison, 'source'>): void => {
      clearTimeout(late);
      socket.close();
      resolve({ source, ...result });
    };
    const fail = (why: string): void => finish({ offset: null, uncertainty: 0, why });
    const late = setTimeout(() => fail(`no answer within ${ANSWER_MS / 1000} s`), ANSWER_MS);
    const request = Buffer.alloc(48);
    request[0] = (4 << 3) | CLIENT;
    // The transmit timestamp identifies the request: the server returns it unchanged.
    const sent = Date.now();
    request.writeUInt32BE(Math.floor(sent / 1000) + EPOCH, 40);
    request.writeUInt32BE(Math.floor(((sent % 1000) / 1000) * FRACTION), 44);
    socket.on('error', (error) => fail(error.message));
    socket.on('message', (answer) => {
      const received = Date.now();
      if (answer.length < 48 || !answer.subarray(24, 32).equals(request.subarray(40, 48))) return;
      if ((answer[0]! & 7) !== SERVER || answer[0]! >> 6 === UNSYNCHRONISED || answer[1] === 0) {
        return fail('it is not synchronised itself');
      }
      const [arrived, left] = [timestamp(answer, 32), timestamp(answer, 40)];
      finish({
        offset: (arrived - sent / 1000 + (left - received / 1000)) / 2,
        uncertainty: Math.max(0, (received - sent) / 1000 - (left - arrived)) / 2,
      });
    });
    socket.send(request, Number(port), host!, (error) => error && fail(error.message));
  });
}

function timestamp(packet: Buffer, at: number): number {
  return packet.readUInt32BE(at) - EPOCH + packet.readUInt32BE(at + 4) / FRACTION;
}
