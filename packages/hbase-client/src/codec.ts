import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';

/** A 64-bit number of the protobuf library. Only `toNumber` and `fromBigInt` convert it. */
export interface Int64 {
  readonly low: number;
  readonly high: number;
}

/** One protobuf message type: converts plain objects with camel-case fields to bytes and back. */
export interface Codec<T> {
  readonly name: string;
  encode(message: T): Buffer;
  decode(bytes: Uint8Array): T;
  /** Appends the length of the message and the message, as in RPC frames. */
  encodeDelimited(message: T, writer: protobuf.Writer): void;
  /** Reads the message at the reader's position, and moves the position to its end. */
  decodeDelimited(reader: protobuf.Reader): T;
}

/** A call that a server answers. A connection is for one `service`. */
export interface Method<Request, Response> {
  readonly service: string;
  readonly name: string;
  readonly request: Codec<Request>;
  readonly response: Codec<Response>;
}

/** Message types of a .proto file beside this one. */
export class Messages {
  readonly #root: protobuf.Root;

  /** @param files are read in order. A file can use the messages of earlier files. */
  constructor(...files: readonly string[]) {
    this.#root = new protobuf.Root();
    for (const file of files) {
      protobuf.parse(readFileSync(new URL(file, import.meta.url), 'utf8'), this.#root);
    }
    this.#root.resolveAll();
  }

  /** `T` is not checked: it describes the fields that the caller sets and reads. */
  codec<T>(name: string): Codec<T> {
    const type = this.#root.lookupType(`hbase.pb.${name}`);
    return {
      name,
      encode: (message) => type.encode(message as object).finish() as Buffer,
      decode: (bytes) => type.decode(bytes) as T,
      encodeDelimited: (message, writer) => void type.encodeDelimited(message as object, writer),
      decodeDelimited: (reader) => type.decodeDelimited(reader) as T,
    };
  }

  /** A method whose messages are called `<name>Request` and `<name>Response`. */
  method<Request, Response>(service: string, name: string): Method<Request, Response> {
    return {
      service,
      name,
      request: this.codec<Request>(`${name}Request`),
      response: this.codec<Response>(`${name}Response`),
    };
  }
}

export function toNumber(value: Int64 | number): number {
  return typeof value === 'number' ? value : value.high * 2 ** 32 + (value.low >>> 0);
}

export function fromBigInt(value: bigint): Int64 {
  return { low: Number(value & 0xffff_ffffn) | 0, high: Number((value >> 32n) & 0xffff_ffffn) | 0 };
}
