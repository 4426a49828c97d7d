import { constants, gunzipSync, inflateSync } from 'node:zlib';
import { DecodeError } from '../../codec.ts';
import type { Form } from './form.ts';

/**
 * Bytes of a payload after decompression: 10,000 readings of 100 bytes. MAX_PAYLOAD does not raise it, because 1 KiB can
 * become 1 MiB. Decompression stops there, and never holds more.
 */
export const MAX_INFLATED = 1 << 20;

/** Bytes of the header, of no data, and of the trailer (RFC 1952 section 2.3). */
const SHORTEST = 20;

/** gzip (RFC 1952) by its magic, and zlib (RFC 1950) by its usual headers, of which none begins a text. */
export const gzip: Form = {
  name: 'gzip',
  read(payload) {
    const [first, second, third] = payload;
    const isGzip = first === 0x1f && second === 0x8b && third === 8;
    const isZlib = first === 0x78 && (second === 0x01 || second === 0x9c || second === 0xda);
    if (!isGzip && !isZlib) return null;
    if (isGzip && payload.length < SHORTEST) return new DecodeError('malformed', 'it is cut');
    // Node keeps the buffer for the output until the next turn of its event loop, which can be after thousands of messages.
    const chunkSize = Math.min(Math.max(4 * payload.length, 256), 65_536);
    const options = { maxOutputLength: MAX_INFLATED, finishFlush: constants.Z_FINISH, chunkSize };
    try {
      return isGzip ? gunzipSync(payload, options) : inflateSync(payload, options);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
        return new DecodeError('too_large', `it has more than ${MAX_INFLATED} bytes after decompression`);
      }
      return new DecodeError('malformed', `it cannot be decompressed: ${(error as Error).message}`);
    }
  },
};
