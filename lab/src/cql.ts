import { connect } from 'node:net';

// The part of the native protocol, version 4, that is needed to check whether a server answers and to set up a role,
// without a driver: https://cassandra.apache.org/doc/latest/cassandra/_attachments/native_protocol_v4.html
const VERSION = 0x04;
const HEADER_BYTES = 9;
const OPCODES = { error: 0x00, startup: 0x01, authenticate: 0x03, query: 0x07, authResponse: 0x0f };
const CONSISTENCY_ONE = 1;

export interface CqlLogin {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

/** Runs one statement over a new connection. Rejects with the error of the server, or after `timeoutMs`. */
export function runCql(login: CqlLogin, statement: string, timeoutMs = 20_000): Promise<void> {
  const steps = {
    startup: frame(OPCODES.startup, stringMap({ CQL_VERSION: '3.0.0' })),
    login: frame(OPCODES.authResponse, longBytes(`\0${login.user}\0${login.password}`)),
    query: frame(OPCODES.query, Buffer.concat([longBytes(statement), Buffer.from([0, CONSISTENCY_ONE, 0])])),
  };
  return new Promise((resolve, reject) => {
    const socket = connect({ host: login.host, port: login.port });
    const timer = setTimeout(() => finish(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    let received = Buffer.alloc(0);
    let isQuerySent = false;
    socket.on('connect', () => socket.write(steps.startup));
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      const end = endOfFrame(received);
      if (received.length < end) return;
      const [opcode, body] = [received[4], received.subarray(HEADER_BYTES, end)];
      received = received.subarray(end);
      if (opcode === OPCODES.error) finish(new Error(body.toString('utf8', 6)));
      else if (opcode === OPCODES.authenticate) socket.write(steps.login);
      else if (isQuerySent) finish();
      else {
        isQuerySent = true;
        socket.write(steps.query);
      }
    });
    socket.on('error', finish);
    socket.on('close', () => finish(new Error('the server closed the connection')));
  });
}

/** Where the first frame of some bytes ends; at least behind its header. */
function endOfFrame(bytes: Buffer): number {
  return HEADER_BYTES + (bytes.length < HEADER_BYTES ? 0 : bytes.readInt32BE(5));
}

function frame(opcode: number, body: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = VERSION;
  header[4] = opcode;
  header.writeInt32BE(body.length, 5);
  return Buffer.concat([header, body]);
}

function longBytes(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(Buffer.byteLength(text));
  return Buffer.concat([length, Buffer.from(text)]);
}

function stringMap(map: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(map);
  return Buffer.concat([
    short(entries.length),
    ...entries.flat().flatMap((text) => [short(Buffer.byteLength(text)), Buffer.from(text)]),
  ]);
}

function short(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}
