import { connect, type Socket } from 'node:net';
import protobuf from 'protobufjs';
import type { Method } from './codec.ts';
import type { Deadline } from './deadline.ts';
import { HBaseError } from './errors.ts';
import { fromRemote } from './exceptions.ts';
import { FrameReader } from './frames.ts';
import { ConnectionHeader, type ExceptionResponse, RequestHeader, ResponseHeader } from './messages.ts';

const { Reader, Writer } = protobuf;

/** "HBas", version 0, simple authentication: section RPC of HBase's reference guide, "Connection setup". */
const PREAMBLE = Buffer.from([0x48, 0x42, 0x61, 0x73, 0, 80]);
const CELL_CODEC = 'org.apache.hadoop.hbase.codec.KeyValueCodec';
const MAX_ID = 0x7fff_ffff;
/** The interval between checks of deadlines. */
const SWEEP_MS = 20;
/** Cell blocks up to this size are copied into one buffer with the request. Larger ones are written separately. */
const COPY_BYTES = 16 * 1024;

export interface ConnectionOptions {
  readonly host: string;
  readonly port: number;
  /** The service of the server: `ClientService`, `MasterService`, `AdminService`, `ClientMetaService`. */
  readonly service: string;
  readonly user: string;
  readonly connectTimeoutMs: number;
  /** The most calls that await an answer at the same time. More calls wait in this process. */
  readonly maxInFlight: number;
  /** The most calls that wait in this process. More calls are OVERLOADED. */
  readonly maxWaiting: number;
  /** Called once, when the connection is closed. */
  readonly onClose: (connection: Connection) => void;
}

export interface CallOptions {
  readonly deadline: Deadline;
  /** A cell block to send after the request. */
  readonly cells?: Buffer | null;
  /** HConstants: 0 is normal. Calls with a high priority, such as those on hbase:meta, have their own handlers. */
  readonly priority?: number;
  /** The region of the call, for messages. */
  readonly region?: string;
}

export interface Answer<Response> {
  readonly message: Response;
  /** The cell block after the message. Empty if there is none. */
  readonly cells: Buffer;
}

interface Call {
  readonly method: Method<unknown, unknown>;
  readonly request: unknown;
  readonly options: CallOptions;
  /** When the request was written, or null while it waits. */
  sent: number | null;
  readonly resolve: (answer: Answer<never>) => void;
  readonly reject: (error: HBaseError) => void;
}

const NO_CELLS = Buffer.alloc(0);

/**
 * One TCP connection to one service of one server, with many calls in flight. It connects on its first call. When it
 * ends, every call fails, and it cannot be used again.
 */
export class Connection {
  /** `host:port`. */
  readonly address: string;
  readonly #options: ConnectionOptions;
  readonly #inFlight = new Map<number, Call>();
  readonly #waiting: Call[] = [];
  #socket: Socket | null = null;
  #state: 'new' | 'connecting' | 'open' | 'closed' = 'new';
  #lastId = 0;
  #lastHeard = 0;
  #sweeper: NodeJS.Timeout | null = null;
  #connecting: NodeJS.Timeout | null = null;
  #output: Buffer[] = [];

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { host, port } = options;
    this.address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  }

  /** Calls that await an answer, or wait to be sent. */
  get #load(): number {
    return this.#inFlight.size + this.#waiting.length;
  }

  /** Rejects with HBaseError. `maybeApplied` is true if the server may have received the request. */
  call<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions,
  ): Promise<Answer<Response>> {
    return new Promise((resolve, reject) => {
      const call = { method, request, options, sent: null, resolve, reject } as unknown as Call;
      if (this.#state === 'closed') return reject(this.#lost('is closed', false));
      if (this.#waiting.length >= this.#options.maxWaiting) {
        const message = `${this.address} has ${this.#waiting.length} calls waiting here`;
        return reject(new HBaseError('OVERLOADED', message, { host: this.address, remedy: 'wait' }));
      }
      this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS);
      if (this.#state === 'open' && this.#inFlight.size < this.#options.maxInFlight) return this.#send(call);
      this.#waiting.push(call);
      if (this.#state === 'new') this.#connect();
    });
  }

  /** Ends the connection at once. Calls in progress fail. */
  close(error: HBaseError = this.#lost('was closed here', true)): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    if (this.#connecting !== null) clearTimeout(this.#connecting);
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
    this.#socket?.destroy();
    this.#options.onClose(this);
    const calls = [...this.#inFlight.values(), ...this.#waiting];
    this.#inFlight.clear();
    this.#waiting.length = 0;
    for (const call of calls) call.reject(call.sent === null ? unsent(error) : error);
  }

  #connect(): void {
    const { host, port, connectTimeoutMs } = this.#options;
    this.#state = 'connecting';
    const socket = connect({ host, port, noDelay: true, keepAlive: true });
    this.#socket = socket;
    this.#connecting = setTimeout(
      () => this.close(this.#unreachable(`no connection within ${connectTimeoutMs} ms`)),
      connectTimeoutMs,
    );
    socket.once('connect', () => this.#greet());
    socket.on('error', (cause) => {
      const lost = this.#state === 'open' ? this.#lost('broke the connection', true, cause) : null;
      this.close(lost ?? this.#unreachable(describe(cause), cause));
    });
    socket.on('close', () => this.close(this.#lost('ended the connection', true)));
    const reader = new FrameReader();
    socket.on('data', (chunk: Buffer) => {
      try {
        this.#lastHeard = performance.now();
        for (const frame of reader.push(chunk)) this.#receive(frame);
      } catch (cause) {
        const message = `${this.address} does not use the HBase protocol: ${describe(cause)}`;
        this.close(
          new HBaseError('PROTOCOL', message, {
            host: this.address,
            cause,
            remedy: 'relocate',
            maybeApplied: true,
          }),
        );
      }
      this.#sendWaiting();
    });
  }

  #greet(): void {
    clearTimeout(this.#connecting!);
    this.#connecting = null;
    this.#state = 'open';
    const header = ConnectionHeader.encode({
      userInfo: { effectiveUser: this.#options.user },
      serviceName: this.#options.service,
      cellBlockCodecClass: CELL_CODEC,
      // Some answers depend on the client's version. This client reads the answers of this version.
      versionInfo: {
        ...{ version: '2.6.1', url: '', revision: '', user: '', date: '', srcChecksum: '' },
        ...{ versionMajor: 2, versionMinor: 6 },
      },
    });
    const length = Buffer.allocUnsafe(4);
    length.writeInt32BE(header.length);
    this.#write(Buffer.concat([PREAMBLE, length, header]));
    this.#sendWaiting();
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#state === 'open') {
      if (this.#inFlight.size >= this.#options.maxInFlight) return;
      this.#send(this.#waiting.shift()!);
    }
  }

  #send(call: Call): void {
    const { method, request, options } = call;
    const left = options.deadline.left;
    if (left <= 0) {
      call.reject(this.#late(call));
      return;
    }
    this.#lastId = this.#lastId === MAX_ID ? 1 : this.#lastId + 1;
    const id = this.#lastId;
    const cells = options.cells ?? NO_CELLS;
    let head: Buffer;
    try {
      const writer = Writer.create();
      RequestHeader.encodeDelimited(
        {
          callId: id,
          methodName: method.name,
          requestParam: true,
          ...(cells.length > 0 ? { cellBlockMeta: { length: cells.length } } : {}),
          ...(options.priority === undefined ? {} : { priority: options.priority }),
          timeout: Math.ceil(left),
        },
        writer,
      );
      method.request.encodeDelimited(request, writer);
      head = writer.finish() as Buffer;
    } catch (cause) {
      const message = `${method.name} cannot be encoded: ${describe(cause)}`;
      call.reject(new HBaseError('REJECTED', message, { cause }));
      return;
    }
    call.sent = performance.now();
    this.#inFlight.set(id, call);
    const size = head.length + cells.length;
    const copied = cells.length <= COPY_BYTES;
    const frame = Buffer.allocUnsafe(4 + (copied ? size : head.length));
    frame.writeInt32BE(size);
    frame.set(head, 4);
    if (copied) frame.set(cells, 4 + head.length);
    this.#write(frame);
    if (!copied) this.#write(cells);
  }

  /** Everything that is written in one turn of the event loop is sent together. */
  #write(bytes: Buffer): void {
    if (this.#output.length === 0) process.nextTick(() => this.#flush());
    this.#output.push(bytes);
  }

  #flush(): void {
    const output = this.#output;
    this.#output = [];
    if (this.#state !== 'open') return;
    this.#socket!.cork();
    for (const bytes of output) this.#socket!.write(bytes);
    this.#socket!.uncork();
  }

  #receive(frame: Buffer): void {
    const reader = Reader.create(frame);
    const header = ResponseHeader.decodeDelimited(reader);
    const call = this.#inFlight.get(header.callId);
    if (header.exception !== null) {
      const error = this.#refusal(header.exception, call);
      // Without a call (the id is -1), the server refuses the connection.
      if (header.callId > MAX_ID) this.close(error);
      this.#inFlight.delete(header.callId);
      call?.reject(error);
      return;
    }
    // The call has passed its deadline.
    if (call === undefined) return;
    this.#inFlight.delete(header.callId);
    try {
      const message = call.method.response.decodeDelimited(reader);
      const length = header.cellBlockMeta?.length ?? 0;
      if (length > frame.length - reader.pos) throw new RangeError('the cell block is cut off');
      const cells = length === 0 ? NO_CELLS : frame.subarray(reader.pos, reader.pos + length);
      call.resolve({ message: message as never, cells });
    } catch (cause) {
      const message = `${this.address} answers ${call.method.name} with an unreadable message: ${describe(cause)}`;
      call.reject(new HBaseError('PROTOCOL', message, { host: this.address, cause, maybeApplied: true }));
    }
  }

  #refusal(exception: ExceptionResponse, call: Call | undefined): HBaseError {
    const {
      exceptionClassName: name,
      stackTrace: trace,
      doNotRetry,
      serverOverloaded: overloaded,
    } = exception;
    const what = call?.method.name ?? `a connection for ${this.#options.service}`;
    return fromRemote({ name, trace, doNotRetry, overloaded }, { host: this.address, what, ...region(call) });
  }

  /** Ends calls past their deadline. Closes the connection if nothing was received since such a call was sent. */
  #sweep(): void {
    const now = performance.now();
    let silent = false;
    for (const [id, call] of this.#inFlight) {
      if (call.options.deadline.at > now) continue;
      this.#inFlight.delete(id);
      silent ||= this.#lastHeard < call.sent!;
      call.reject(this.#late(call));
    }
    for (let index = this.#waiting.length - 1; index >= 0; index -= 1) {
      const call = this.#waiting[index]!;
      if (call.options.deadline.at > now) continue;
      this.#waiting.splice(index, 1);
      call.reject(this.#late(call));
    }
    if (silent) this.close(this.#lost('stopped answering', true));
    else if (this.#load === 0) {
      clearInterval(this.#sweeper!);
      this.#sweeper = null;
    } else {
      this.#sendWaiting();
    }
  }

  #late(call: Call): HBaseError {
    const { method, sent } = call;
    const where = call.options.region === undefined ? '' : `, region ${call.options.region}`;
    const message = `${method.name} at ${this.address}${where}: no answer in time`;
    const host = this.address;
    return new HBaseError('TIMEOUT', message, {
      ...{ host, remedy: 'relocate', maybeApplied: sent !== null },
      ...region(call),
    });
  }

  #unreachable(why: string, cause?: unknown): HBaseError {
    const host = this.address;
    const message = `${host} (${this.#options.service}) cannot be reached: ${why}`;
    const hint = 'is the server up, and can its host name be resolved here?';
    return new HBaseError('UNREACHABLE', message, { host, cause, hint, remedy: 'relocate' });
  }

  #lost(how: string, maybeApplied: boolean, cause?: unknown): HBaseError {
    const host = this.address;
    const message = `${host} ${how}${cause === undefined ? '' : `: ${describe(cause)}`}`;
    return new HBaseError('UNREACHABLE', message, { host, cause, remedy: 'relocate', maybeApplied });
  }
}

function region(call: Call | undefined): { readonly region?: string } {
  return call?.options.region === undefined ? {} : { region: call.options.region };
}

/** The same failure for a call that was not sent. */
function unsent(error: HBaseError): HBaseError {
  if (!error.maybeApplied) return error;
  const { code, message, cause, hint, host, remedy } = error;
  return new HBaseError(code, message, {
    cause,
    remedy,
    ...(hint === null ? {} : { hint }),
    ...(host === null ? {} : { host }),
  });
}

function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describe(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
