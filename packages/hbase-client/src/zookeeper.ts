import { connect } from 'node:net';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { FrameReader } from './frames.ts';

// The calls of ZooKeeper's protocol (org.apache.zookeeper.proto, zookeeper.jute 3.8) that are needed to read a znode.
const GET_DATA = 4;
const CLOSE_SESSION = -11;
const NO_NODE = -101;
const NO_AUTH = -102;
const SESSION_MS = 10_000;

export interface ZooKeeperHost {
  readonly host: string;
  readonly port: number;
}

/**
 * Reads znodes in a separate session, which ends after the answer. Look-ups are rare, so a permanent session is not
 * needed. The result is null for a znode that does not exist. Hosts are tried one after the other.
 * @throws {HBaseError} UNREACHABLE with the name of every host, or ACCESS_DENIED.
 */
export async function readZnodes(
  hosts: readonly ZooKeeperHost[],
  paths: readonly string[],
  deadline: Deadline,
  signal: AbortSignal,
): Promise<(Buffer | null)[]> {
  const troubles: string[] = [];
  const start = Math.floor(Math.random() * hosts.length);
  for (let index = 0; index < hosts.length; index += 1) {
    const host = hosts[(start + index) % hosts.length]!;
    // Each host has only a share of the time, so that the others can be tried if it does not answer.
    const share = Math.max(deadline.left / (hosts.length - index), 1);
    try {
      return await readFrom(host, paths, share, signal);
    } catch (error) {
      if (error instanceof HBaseError) throw error;
      troubles.push(`${host.host}:${host.port}: ${error instanceof Error ? error.message : error}`);
    }
  }
  throw new HBaseError('UNREACHABLE', `ZooKeeper cannot be reached at ${troubles.join('; ')}`, {
    hint: 'is ZooKeeper up, and are host and port right?',
    remedy: 'wait',
  });
}

function readFrom(
  { host, port }: ZooKeeperHost,
  paths: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<(Buffer | null)[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    const end = (error: Error | null): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      if (error === null) {
        socket.write(closeSession());
        socket.destroySoon();
        resolve(answers);
      } else {
        socket.destroy();
        reject(error);
      }
    };
    const abort = (): void => end(new HBaseError('CLOSED', 'the client was closed'));
    const timer = setTimeout(() => end(new Error(`no answer within ${Math.round(timeoutMs)} ms`)), timeoutMs);
    signal.addEventListener('abort', abort);
    if (signal.aborted) return abort();
    const answers: (Buffer | null)[] = [];
    const frames = new FrameReader();
    let inSession = false;
    socket.on('error', (error: Error & { errors?: Error[] }) => end(error.errors?.[0] ?? error));
    socket.on('close', () => end(new Error('it ended the connection')));
    socket.once('connect', () => socket.write(connectRequest()));
    const beginSession = (frame: Buffer): void => {
      // ConnectResponse: protocol version, timeout (0: refused), session id, password.
      if (frame.readInt32BE(4) <= 0) throw new Error('it grants no session');
      inSession = true;
      for (const [index, path] of paths.entries()) socket.write(getData(index + 1, path));
    };
    const takeAnswer = (frame: Buffer): void => {
      // ReplyHeader: xid, zxid, err; then the answer.
      const xid = frame.readInt32BE(0);
      if (xid === answers.length + 1)
        answers.push(readAnswer(frame, paths[answers.length]!, `${host}:${port}`));
    };
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const frame of frames.push(chunk)) {
          if (inSession) takeAnswer(frame);
          else beginSession(frame);
          if (answers.length === paths.length) return end(null);
        }
      } catch (error) {
        end(explained(error as Error));
      }
    });
  });
}

function explained(error: Error): Error {
  if (!(error instanceof HBaseError) || error.code !== 'PROTOCOL') return error;
  return new Error(`it does not use the ZooKeeper protocol (${error.message})`);
}

function readAnswer(frame: Buffer, path: string, host: string): Buffer | null {
  const code = frame.readInt32BE(12);
  if (code === NO_NODE) return null;
  if (code === NO_AUTH) {
    throw new HBaseError('ACCESS_DENIED', `ZooKeeper ${host} does not allow this client to read ${path}`, {
      host,
      hint: 'this client does not log in to ZooKeeper: allow everyone to read the znode',
    });
  }
  if (code !== 0) throw new Error(`reading ${path} failed with error ${code}`);
  const length = frame.readInt32BE(16);
  return Buffer.from(frame.subarray(20, 20 + Math.max(length, 0)));
}

/** ConnectRequest: protocol version, last zxid, timeout, session id, password, read-only servers are accepted. */
function connectRequest(): Buffer {
  const body = Buffer.alloc(4 + 8 + 4 + 8 + 4 + 16 + 1);
  body.writeInt32BE(SESSION_MS, 12);
  body.writeInt32BE(16, 24);
  body.writeInt8(1, 44);
  return framed(body);
}

function getData(xid: number, path: string): Buffer {
  const name = Buffer.from(path);
  const body = Buffer.alloc(12 + name.length + 1);
  body.writeInt32BE(xid, 0);
  body.writeInt32BE(GET_DATA, 4);
  body.writeInt32BE(name.length, 8);
  body.set(name, 12);
  return framed(body);
}

function closeSession(): Buffer {
  const body = Buffer.alloc(8);
  body.writeInt32BE(CLOSE_SESSION, 4);
  return framed(body);
}

function framed(body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}
