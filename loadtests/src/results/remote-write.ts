import { fetchFor } from '@tidegauge/service';
import protobuf from 'protobufjs/minimal.js';

/** A value of a series at a time. */
export interface Sample {
  /** Labels with the name of the metric as `__name__`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Null ends the series. */
  readonly value: number | null;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

const TIMEOUT_MS = 5000;
/** The bits of the NaN that ends a series: after it, queries do not return its last value for five minutes. */
const STALE_BITS = 0x7ff0000000000002n;
/** A literal whose length is in the next two bytes. */
const LITERAL = 61 << 2;
const MOST_LITERAL = 65_536;

/**
 * Writes samples to a Prometheus with `--web.enable-remote-write-receiver`. The times of a series must increase.
 *
 * @param prometheus its URL
 * @throws {Error} when Prometheus cannot be reached or refuses the samples
 */
export async function remoteWrite(prometheus: string, samples: readonly Sample[]): Promise<void> {
  const response = await fetchFor('write to Prometheus', writeUrl(prometheus), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-protobuf',
      'Content-Encoding': 'snappy',
      'X-Prometheus-Remote-Write-Version': '0.1.0',
    },
    body: snappy(writeRequest(samples)),
    timeoutMs: TIMEOUT_MS,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Prometheus refused samples with ${response.status}: ${text.trim()}`);
}

/** The address of remote write of a Prometheus. Its URL may have a path. */
export function writeUrl(prometheus: string): string {
  return new URL('api/v1/write', `${prometheus.replace(/\/$/, '')}/`).href;
}

/** The message WriteRequest: https://prometheus.io/docs/specs/prw/remote_write_spec/ */
function writeRequest(samples: readonly Sample[]): Uint8Array {
  const writer = protobuf.Writer.create();
  for (const { labels, value, time } of samples) {
    writer.uint32(tag(1, 2)).fork();
    // Sorted by name. The names are of our own, in ASCII.
    for (const [name, text] of Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      writer.uint32(tag(1, 2)).fork().uint32(tag(1, 2)).string(name).uint32(tag(2, 2)).string(text).ldelim();
    writer.uint32(tag(2, 2)).fork();
    if (value === null) writer.uint32(tag(1, 1)).fixed64(STALE_BITS.toString());
    else writer.uint32(tag(1, 1)).double(value);
    writer.uint32(tag(2, 0)).int64(time).ldelim().ldelim();
  }
  return writer.finish();
}

/** The tag of a field in Protocol Buffers. */
function tag(field: number, wireType: 0 | 1 | 2): number {
  return (field << 3) | wireType;
}

/**
 * Snappy's block format with literals only, because remote write requires Snappy, and these messages have a few hundred
 * bytes: https://github.com/google/snappy/blob/main/format_description.txt
 */
function snappy(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [protobuf.Writer.create().uint32(bytes.length).finish()];
  for (let start = 0; start < bytes.length; start += MOST_LITERAL) {
    const literal = bytes.subarray(start, start + MOST_LITERAL);
    const length = literal.length - 1;
    parts.push(Uint8Array.of(LITERAL, length & 0xff, length >> 8), literal);
  }
  return new Uint8Array(Buffer.concat(parts));
}
