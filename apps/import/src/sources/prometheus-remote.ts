import { fetchFor } from '@tidegauge/service';
import { maskUrl } from '@tidegauge/text';
import { snappyUncompress } from 'hyparquet';
import protobuf from 'protobufjs/minimal.js';
import type { ImportSource, SourceReading, Step } from '../import-source.ts';
import type { Tally } from '../tally.ts';
import { addSample, type PrometheusNames, type PrometheusSample } from './prometheus-text.ts';

const TIMEOUT_MS = 120_000;
/** The largest answer, before and after decompression. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Milliseconds of one request: it begins with the first, and grows while answers are small. */
const FIRST_WINDOW_MS = 60_000;
const LONGEST_WINDOW_MS = 86_400_000;
const FEW_SAMPLES = 20_000;
const MANY_SAMPLES = 100_000;
const STEP_SAMPLES = 10_000;
/** A literal of Snappy whose length is in the next byte. */
const LITERAL = 60 << 2;

interface Position {
  /** The window that is read, milliseconds: [start, end). */
  readonly start: number;
  readonly end: number;
  /** Samples of the window that are done. */
  readonly done: number;
}

export interface RemoteOptions extends PrometheusNames {
  /** Times of the samples, microseconds: [from, until). Null: until the import began. */
  readonly from: number;
  readonly until: number | null;
  /** A regular expression for the names of the metrics. */
  readonly match: string;
}

/**
 * The samples of a Prometheus, by its remote read API (answers of the type SAMPLES), in windows of time. A server with the
 * same API, such as Thanos or Mimir, can be read too.
 */
export function prometheusServer(url: string, options: RemoteOptions, received: number): ImportSource {
  return {
    name: `prometheus:${maskUrl(url)}`,
    version: JSON.stringify([options.from, options.until, options.match, ...options.templates]),
    steps: (position, tally) => read(url, options, received, position as Position | null, tally),
  };
}

/** Few samples make the next window longer, and many make it shorter. */
function nextWindow(window: number, samples: number): number {
  if (samples < FEW_SAMPLES) return Math.min(2 * window, LONGEST_WINDOW_MS);
  return samples > MANY_SAMPLES ? Math.max(1, window >> 1) : window;
}

async function* read(
  url: string,
  { from, until, match, names }: RemoteOptions,
  received: number,
  position: Position | null,
  tally: Tally,
): AsyncGenerator<Step> {
  const [first, end] = [Math.floor(from / 1000), Math.ceil((until ?? received) / 1000)];
  let window = position === null ? FIRST_WINDOW_MS : position.end - position.start;
  let done = position?.done ?? 0;
  for (let start = position?.start ?? first; start < end; ) {
    const next = Math.min(end, start + window);
    const share = (next - first) / (end - first);
    // The end of a query is inclusive.
    const samples = decodeResponse(await request(url, encodeRequest(start, next - 1, match)));
    let count = 0;
    let readings: SourceReading[] = [];
    for (const sample of samples) {
      count += 1;
      if (count <= done) continue;
      addSample(sample, names, received, readings, tally);
      if (count % STEP_SAMPLES !== 0) continue;
      yield { readings, position: { start, end: next, done: count }, share };
      readings = [];
    }
    done = 0;
    start = next;
    window = nextWindow(window, count);
    yield { readings, position: { start, end: start + window, done }, share };
  }
}

/** Sends a query. Resolves to the message of the answer. */
async function request(url: string, message: Uint8Array): Promise<Uint8Array> {
  const address = new URL('api/v1/read', `${url.replace(/\/$/, '')}/`);
  const { username, password } = address;
  address.username = '';
  address.password = '';
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  const response = await fetchFor('read from Prometheus', address, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-protobuf',
      'Content-Encoding': 'snappy',
      'X-Prometheus-Remote-Read-Version': '0.1.0',
      ...(username === '' ? {} : { Authorization: `Basic ${credentials.toString('base64')}` }),
    },
    body: snappy(message),
    timeoutMs: TIMEOUT_MS,
  });
  if (!response.ok) {
    const text = (await response.text()).slice(0, 500).trim();
    throw new Error(`${maskUrl(url)} refused the query with ${response.status}: ${text}`);
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > MOST_BYTES) throw tooLarge();
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  if (bytes.length === 0) return bytes;
  const size = protobuf.Reader.create(bytes).uint32();
  if (size > MOST_BYTES) throw tooLarge();
  const content = new Uint8Array(size);
  snappyUncompress(bytes, content);
  return content;
}

function tooLarge(): Error {
  return new Error(
    `an answer of Prometheus has more than ${MOST_BYTES} bytes: select fewer metrics with --match`,
  );
}

/** The message ReadRequest: https://prometheus.io/docs/specs/prw/remote_read_api/ */
function encodeRequest(start: number, end: number, match: string): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(tag(1, 2)).fork().uint32(tag(1, 0)).int64(start).uint32(tag(2, 0)).int64(end);
  // A matcher of the type RE.
  writer.uint32(tag(3, 2)).fork().uint32(tag(1, 0)).int32(2);
  writer.uint32(tag(2, 2)).string('__name__').uint32(tag(3, 2)).string(match).ldelim();
  return writer.ldelim().finish();
}

/** The samples of a ReadResponse, series by series. */
function* decodeResponse(bytes: Uint8Array): Generator<PrometheusSample> {
  for (const result of fieldsOf(bytes, 1)) {
    for (const series of fieldsOf(result, 1)) {
      const labels = new Map<string, string>();
      for (const label of fieldsOf(series, 1)) {
        const [name, value] = [textIn(label, 1), textIn(label, 2)];
        labels.set(name, value);
      }
      for (const sample of fieldsOf(series, 2)) yield { labels, ...sampleIn(sample) };
    }
  }
}

function sampleIn(bytes: Uint8Array): { readonly value: number; readonly time: number } {
  const reader = protobuf.Reader.create(bytes);
  let [value, time] = [0, 0];
  while (reader.pos < reader.len) {
    const key = reader.uint32();
    if (key === tag(1, 1)) value = reader.double();
    else if (key === tag(2, 0)) time = Number(String(reader.int64())) * 1000;
    else reader.skipType(key & 7);
  }
  return { value, time };
}

/** The messages of one field. */
function* fieldsOf(bytes: Uint8Array, field: number): Generator<Uint8Array> {
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < reader.len) {
    const key = reader.uint32();
    if (key === tag(field, 2)) yield reader.bytes();
    else reader.skipType(key & 7);
  }
}

function textIn(bytes: Uint8Array, field: number): string {
  for (const text of fieldsOf(bytes, field)) return Buffer.from(text).toString();
  return '';
}

/** The tag of a field in Protocol Buffers. */
function tag(field: number, wireType: 0 | 1 | 2): number {
  return (field << 3) | wireType;
}

/** Snappy's block format with literals only: requests are short. */
function snappy(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [protobuf.Writer.create().uint32(bytes.length).finish()];
  for (let start = 0; start < bytes.length; start += 256) {
    const literal = bytes.subarray(start, start + 256);
    parts.push(Uint8Array.of(LITERAL, literal.length - 1), literal);
  }
  return new Uint8Array(Buffer.concat(parts));
}
