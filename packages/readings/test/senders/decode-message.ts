import assert from 'node:assert/strict';
import {
  compileMapping,
  compileTopicTemplate,
  type Decode,
  DecodeError,
  formats,
  formatTime,
  type MappingOptions,
  presetMapping,
  presets,
  presetTopic,
  type Reading,
  templateNames,
} from '@tidegauge/readings';
import type { SenderMessage } from './sender-message.ts';

/** When all messages are received: 2026-11-21T12:00:00Z. */
export const RECEIVED = Date.UTC(2026, 10, 21, 12) * 1000;

/** What a message became. */
export interface Decoded {
  readonly readings: readonly Reading[] | DecodeError;
  /** What `auto` makes of the payload with the same names from the topic. */
  readonly auto: readonly Reading[] | DecodeError;
  readonly units: Readonly<Record<string, string>>;
  /** The ignored fields, with the reason. */
  readonly ignored: Readonly<Record<string, string>>;
}

/** Decodes a message by the first route that matches its topic, as ingest does. */
export function decodeMessage(message: SenderMessage): Decoded {
  for (const { template, decode } of routesOf(message)) {
    const names = template.match(message.topic);
    if (names === null) continue;
    if (names instanceof DecodeError) assert.fail(`${message.topic}: ${names}`);
    const units: Record<string, string> = {};
    const ignored: Record<string, string> = {};
    const payload = Buffer.from(message.payload);
    const context = { ...names, received: RECEIVED };
    const notes = {
      unit: (_device: string, metric: string, unit: string) => {
        units[metric] = unit;
      },
      ignored: (field: string, why: string) => {
        ignored[field] = why;
      },
    };
    const readings = decode(payload, { ...context, notes });
    let auto = formats.auto!(payload, context);
    if (auto instanceof DecodeError) {
      const { device, metric } = namesOfTopic(message);
      auto = formats.auto!(payload, {
        ...context,
        device: names.device ?? device,
        full: names.full ?? device,
        metric: names.metric ?? metric,
      });
    }
    return { readings, auto, units, ignored };
  }
  return assert.fail(`no route of ${message.preset ?? message.template} takes ${message.topic}`);
}

/** Names in the topic, for templates that capture them in several parts: the device, and the levels after it. */
function namesOfTopic({ topic, readings }: SenderMessage): { device: string | null; metric: string | null } {
  const device = readings[0]?.[0];
  if (device === undefined || !topic.includes(device)) return { device: null, metric: null };
  const after = topic.slice(topic.indexOf(device) + device.length + 1);
  return { device, metric: after === '' ? null : after.replaceAll('/', '.') };
}

function routesOf({ preset: name, template, mapping }: SenderMessage) {
  if (name === undefined) {
    return [routeOf(template!, mapping === undefined ? formats.auto! : (mapping as MappingOptions))];
  }
  const preset = presets[name] ?? assert.fail(`there is no preset ${name}`);
  if (template !== undefined) return [routeOf(template, presetMapping(preset, template))];
  return preset.routes.map((route) => routeOf(presetTopic(preset.base, route.topic), route.mapping));
}

function routeOf(topic: string, how: MappingOptions | 'ignore' | Decode) {
  const captures = typeof how === 'object' ? templateNames(how) : [];
  const decode = how === 'ignore' ? () => [] : typeof how === 'function' ? how : compileMapping(how);
  return { template: compileTopicTemplate(topic, { captures }), decode };
}

/** Readings in a short form, in the order of their names. */
export function brief(readings: readonly Reading[]) {
  return readings
    .map(({ device, metric, value, time }) => [device, metric, value, formatTime(time)] as const)
    .sort((a, b) => compare(`${a[0]} ${a[1]} ${a[3]}`, `${b[0]} ${b[1]} ${b[3]}`));
}

/** The expected readings of a message, in the form of `brief`. */
export function expectedOf({ readings, time }: SenderMessage) {
  return readings
    .map(
      ([device, metric, value, own]) => [device, metric, value, own ?? time ?? formatTime(RECEIVED)] as const,
    )
    .sort((a, b) => compare(`${a[0]} ${a[1]} ${a[3]}`, `${b[0]} ${b[1]} ${b[3]}`));
}

/** How well `auto` decodes a message: see `SenderMessage.auto`. */
export function autoResult(message: SenderMessage, { auto }: Decoded): 'same' | 'values' | 'no' {
  if (auto instanceof DecodeError) return 'no';
  const expected = expectedOf(message);
  if (JSON.stringify(brief(auto)) === JSON.stringify(expected)) return 'same';
  const found = brief(auto).map(([, , value, time]) => `${stateOf(value)} ${time}`);
  for (const [, , value, time] of expected) {
    const at = found.indexOf(`${stateOf(value)} ${time}`);
    if (at === -1) return 'no';
    found.splice(at, 1);
  }
  return 'values';
}

/** A value, in which words for states are numbers. */
function stateOf(value: number | string): number | string {
  if (typeof value === 'number') return value;
  const word = value.toLowerCase();
  if (['on', 'open', 'online', 'true'].includes(word)) return 1;
  return ['off', 'closed', 'offline', 'false', 'unlock'].includes(word) ? 0 : value;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
