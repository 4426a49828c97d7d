import { type Decode, type StatefulDecoder, withoutExceptions } from './codec.ts';
import { decodeAuto } from './codecs/auto.ts';
import { decodeInflux } from './codecs/influx.ts';
import { decodeJson } from './codecs/json.ts';
import { decodePlain } from './codecs/plain.ts';
import { decodeSenmlCbor } from './codecs/senml-cbor.ts';
import { decodeSenmlJson } from './codecs/senml-json.ts';
import { SparkplugDecoder } from './codecs/sparkplug.ts';
import { decodeText } from './codecs/text.ts';
import { table } from './table.ts';

/** Every payload format, by its name in routes. */
export const formats = table<Decode>({
  auto: decodeAuto,
  plain: withoutExceptions(decodePlain),
  text: withoutExceptions(decodeText),
  json: withoutExceptions(decodeJson),
  'senml-json': withoutExceptions(decodeSenmlJson),
  'senml-cbor': withoutExceptions(decodeSenmlCbor),
  influx: decodeInflux,
});

export const formatNames: readonly string[] = Object.freeze(Object.keys(formats));

/** The formats of MQTT routes that need a decoder with state, by their names. Each route needs its own decoder. */
export const statefulFormats = table<() => StatefulDecoder>({
  'sparkplug-b': () => new SparkplugDecoder(),
});

/** The format of each media type of an HTTP body or an MQTT 5 content type. */
export const mediaTypes = table<string>({
  'application/json': 'json',
  'application/senml+json': 'senml-json',
  'application/senml+cbor': 'senml-cbor',
  'text/plain': 'plain',
});

/** The format of a content type, or `null`. Case and parameters (`; charset=utf-8`) are ignored. */
export function formatOfMediaType(contentType: string): string | null {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase();
  return mediaTypes[type] ?? null;
}
