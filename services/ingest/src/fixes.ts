import {
  compileMapping,
  compileTopicTemplate,
  type DecodeContext,
  DecodeError,
  formats,
  formatTime,
  isTable,
  type MappingOptions,
  mergeMappings,
  now,
  presets,
  presetTopic,
  quote,
  type Reading,
  type RouteProposal,
  type TopicTemplate,
  templateNames,
  unreadForm,
  withZone,
} from '@tidegauge/readings';
import { Router } from './routes.ts';
import { routesOfEntry } from './routes-file.ts';

/** A longer first level is not proposed, in UTF-16 units. */
const LONGEST_LEVEL = 500;
/** Settings that are shown, of those that read the message. */
const MOST_SHOWN = 3;
/** Fields of a payload that are tried as its time or its name. */
const MOST_FIELDS = 20;
/** A longer text is no word of a sensor. */
const LONGEST_WORD = 64;
/** Settings are not tried on a larger payload, bytes: the event loop receives messages too. */
export const LARGEST_TRIED = 64 * 1024;
/** A part of the errors and notes about a text that can be a number or an identifier. */
const NUMBER_OR_TEXT = 'values of the mapping, number or text';
/** Fields that name the sender, and fields that name the metric. */
const DEVICE_FIELDS =
  /device|sensor|node|station|_id$|^serial|^(?:id|mac|address|sn|name|host|hostname|eui|deveui)$/i;
const METRIC_FIELDS = /^(?:name|metric|type|kind|sensor|measurement|key|label|n)$/i;

/** Fields that name a part of a site, also with a number. */
const PLACE_FIELDS = /^(?:zone|room|area|location|place|channel|ch|port|slot|probe|index|tag|no|nr)$/i;
const TIME_FIELDS = /time|date|^t$|^ts$|_at$/i;

/** The part of an error that decides how it is fixed. */
export interface Failure {
  /** A reason of `DecodeError`, or of a store. */
  readonly reason: string;
  readonly message: string;
}

/** A message that is not read, on which settings are tried. */
export interface Message {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** The time of receipt to assume, microseconds since the epoch. */
  readonly received: number;
}

/** A setting of a route: a format, or keys that are added to its mapping. */
type Setting = { readonly format: string } | { readonly mapping: MappingOptions };

/** The setting outside of routes that makes a message like this one readable; null when there is none. */
export function fixOf({ reason, message }: Failure): string | null {
  // Decompressed content has its own bound.
  return reason === 'too_large' && !/decompression/.test(message)
    ? 'raise MAX_PAYLOAD, or send less in one message'
    : null;
}

/**
 * The settings that make this message readable, with what they make of it. Each was tried on the message. Null when none
 * helps, so that the sender must change.
 */
export function triedFix(failure: Failure, message: Message, router: Router): string | null {
  const { route, error, ...names } = router.resolve(message.topic);
  if (failure.reason === 'unknown_topic' || route === null) return routeFor(message, router);
  const known = fixOf(failure);
  const stated = failure.message.indexOf('set mapping: ');
  if (failure.reason === 'invalid_name' && stated !== -1) return failure.message.slice(stated);
  if (known !== null || error !== null || route.isIgnored || route.stateful !== null) return known;
  if (message.payload.length > LARGEST_TRIED) return null;
  const context: DecodeContext = { ...names, received: message.received, topic: message.topic };
  const found = settingsFor(failure, message.payload).flatMap((setting) => {
    const readings = tried(setting, route.mapping, router.zone, message.payload, context);
    return readings === null ? [] : [`${textOf(setting)} (${outcome(readings)})`];
  });
  const suited = route.preset === null ? presetsFor(message, router) : [];
  const all = [...suited.map((preset) => `the preset of its sender: - preset: ${preset}`), ...found];
  return all.length === 0 ? null : `set ${all.slice(0, MOST_SHOWN).join('; or ')}`;
}

/** The entry of a routes file for a message that no route takes. */
function routeFor(message: Message, router: Router): string | null {
  const entries = proposalsFor(message, router).map((each) =>
    'preset' in each ? `- preset: ${each.preset}` : `- topic: ${each.topic}`,
  );
  const own = suggestedTopic(message.topic, message.payload);
  if (entries.length === 0 && own !== null) {
    const alone = routerOf({ topic: own }, router);
    const failed = alone === null ? null : decodedBy(alone, message);
    const fix = failed instanceof DecodeError ? triedFix(failed, message, alone!) : null;
    return fix === null ? null : `add a route: - topic: ${own}, and ${fix}`;
  }
  return entries.length === 0 ? null : `add a route: ${entries.join(', or ')}`;
}

/** The settings that may read a payload that was refused, the most specific first. */
function settingsFor({ reason, message }: Failure, payload: Uint8Array): readonly Setting[] {
  return SETTINGS.get(reason)?.(message, payload) ?? [];
}

/** By the reason of the refusal. */
const SETTINGS: ReadonlyMap<string, (message: string, payload: Uint8Array) => readonly Setting[]> = new Map([
  ['invalid_time', timeSettings],
  ['invalid_name', nameSettings],
  ['malformed', valueSettings],
  ['invalid_value', valueSettings],
  ['unsupported', valueSettings],
]);

function timeSettings(message: string, payload: Uint8Array): readonly Setting[] {
  if (message.includes('would overwrite')) return mappings(separating(payload));
  const fields = fieldsOf(payload);
  // The message begins with the field that is no time.
  const timeField = fields.find((field) => message.startsWith(`${quote(field)} `));
  const drop = timeField === undefined ? {} : { drop: [timeField] };
  return mappings([
    { time: { format: 'day-first' } },
    { time: { format: 'month-first' } },
    ...fields
      .filter((field) => !/^(?:t|ts|time|timestamp)$/.test(field))
      .map((field) => ({ time: { field }, ...drop })),
    { time: false, ...drop },
  ]);
}

function nameSettings(message: string, payload: Uint8Array): readonly Setting[] {
  const fields = fieldsOf(payload);
  if (!/metric/.test(message)) return mappings(named(fields, DEVICE_FIELDS).map((device) => ({ device })));
  return mappings([...named(fields, METRIC_FIELDS).map((metric) => ({ metric })), { metric: 'value' }]);
}

function valueSettings(message: string, payload: Uint8Array): readonly Setting[] {
  const mayBeText = isWord(payload) || message.includes(NUMBER_OR_TEXT);
  return [
    ...mappings([...numberSettings(message), ...timesOf(message)]),
    ...['auto', 'influx', 'senml-json', 'senml-cbor'].map((format) => ({ format })),
    ...mappings(mayBeText ? [{ values: { '*': 'text' } }] : []),
  ];
}

function mappings(list: readonly MappingOptions[]): readonly Setting[] {
  return list.map((mapping) => ({ mapping }));
}

/** The settings of a mapping that decide about a text that can be a number, as an error or a note of a decoder names them. */
function numberSettings(message: string): readonly MappingOptions[] {
  const found = /set decimal: (comma|point)(?: or decimal: (comma|point))? in the mapping/.exec(message);
  if (found !== null)
    return found
      .slice(1)
      .filter((decimal): decimal is 'comma' | 'point' => decimal !== undefined)
      .map((decimal) => ({ decimal }));
  return message.includes(NUMBER_OR_TEXT) ? [{ values: { '*': 'number' } }] : [];
}

/** The settings that choose one of two fields that are both the time, as an error of a decoder names them. */
function timesOf(message: string): readonly MappingOptions[] {
  const [, one, other] = /^"(\w+)" and "(\w+)" say the same thing/.exec(message) ?? [];
  if (one === undefined || other === undefined) return [];
  return [
    { time: { field: one }, drop: [other] },
    { time: { field: other }, drop: [one] },
  ];
}

/** The setting for a text that is stored and can be a number; null when a note is about something else. */
export function numberFix(note: string): string | null {
  const settings = numberSettings(note).map((mapping) => textOf({ mapping }));
  return settings.length === 0 ? null : `if it is a number, set ${settings.join(', or ')}`;
}

/** Templates of fields with such a name. */
function named(fields: readonly string[], names: RegExp): readonly string[] {
  return fields.filter((field) => names.test(field)).map((field) => `{${field}}`);
}

/** The settings that may separate values of one series and one time. */
function separating(payload: Uint8Array): readonly MappingOptions[] {
  const root = rootOf(payload);
  // Local times without a known zone are not used, so that all values have the time of receipt.
  const zoned = { time: { zone: 'UTC' } };
  if (isTable(root)) {
    const arrays = Object.keys(root).filter((field) => Array.isArray(root[field]) && /^[\w-]+$/.test(field));
    return [zoned, ...arrays.slice(0, MOST_FIELDS).map((field) => ({ drop: [field] }))];
  }
  const first: unknown = Array.isArray(root) ? root[0] : null;
  if (!isTable(first)) return [];
  const isName = (field: string) =>
    DEVICE_FIELDS.test(field) ||
    PLACE_FIELDS.test(field) ||
    (!TIME_FIELDS.test(field) && typeof first[field] === 'string' && /\p{L}/u.test(first[field]));
  const names = fieldsOf(payload).filter(isName);
  const hasValue = Object.hasOwn(first, 'v') || Object.hasOwn(first, 'value');
  return [
    zoned,
    ...(hasValue ? names.map((field) => ({ metric: `{${field}}` })) : []),
    ...names.map((field) => ({ device: `{device}/{${field}}` })),
  ];
}

function rootOf(payload: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString());
  } catch {
    return null;
  }
}

/** The first fields of a payload that is an object, or an array of objects, with a scalar value. */
function fieldsOf(payload: Uint8Array): readonly string[] {
  const root = rootOf(payload);
  const record: unknown = Array.isArray(root) ? root[0] : root;
  if (!isTable(record)) return [];
  const isName = (field: string) => /^[\w -]{1,64}$/.test(field) && typeof record[field] !== 'object';
  return Object.keys(record).filter(isName).slice(0, MOST_FIELDS);
}

/** Whether a payload is a word or a few of them, and not a form of values that was recognised. */
function isWord(payload: Uint8Array): boolean {
  if (payload.length === 0 || payload.length > LONGEST_WORD || unreadForm(payload) !== null) return false;
  return /^\p{L}[\p{L}\p{N} _.,:+/-]*\0*$/u.test(Buffer.from(payload).toString().trim());
}

/** The readings of a payload with a setting; null when it is refused, or has none. */
function tried(
  setting: Setting,
  mapping: MappingOptions | null,
  zone: string | null,
  payload: Uint8Array,
  context: DecodeContext,
): readonly Reading[] | null {
  if ('format' in setting && mapping !== null) return null;
  const decode =
    'format' in setting
      ? formats[setting.format]!
      : compileMapping(withZone(mergeMappings(mapping ?? {}, setting.mapping), zone));
  const decoded = decode(payload, context);
  if (decoded instanceof DecodeError || decoded.length === 0) return null;
  // A counter is no time, although it can be read as one.
  const isTime = !('mapping' in setting) || setting.mapping.time === undefined || decoded.every(isPlausible);
  return isTime ? decoded : null;
}

function isPlausible({ quality }: Reading): boolean {
  return quality === 'ok';
}

function textOf(setting: Setting): string {
  return 'format' in setting ? `format: ${setting.format}` : `mapping: ${flow(setting.mapping)}`;
}

/** The first reading, for people. */
function outcome(readings: readonly Reading[]): string {
  const { metric, value, time, received } = readings[0]!;
  const at = time === received ? 'the time of receipt' : formatTime(time).replace(/\.0+Z$/, 'Z');
  const more = readings.length > 1 ? `, and ${readings.length - 1} more` : '';
  return `it gives ${metric} = ${quote(value)} at ${at}${more}`;
}

/** YAML in one line. */
function flow(value: unknown): string {
  if (isTable(value))
    return `{ ${Object.entries(value)
      .map(([key, each]) => `${flow(key)}: ${flow(each)}`)
      .join(', ')} }`;
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'string') return String(value);
  return /^[A-Za-z][\w.-]*$/.test(value) ? value : `'${value.replaceAll("'", "''")}'`;
}

/**
 * Routes that read this message: the presets of its sender, and a route for topics like its own. Each is an entry of a
 * routes file, and was tried on the message.
 */
export function proposalsFor(message: Message, router: Router): readonly RouteProposal[] {
  const own = suggestedTopic(message.topic, message.payload);
  return [
    ...presetsFor(message, router).map((preset) => ({ preset })),
    ...(own !== null && isRead({ topic: own }, message, router) ? [{ topic: own }] : []),
  ];
}

function isRead(entry: RouteProposal, message: Message, like: Router): boolean {
  const router = routerOf(entry, like);
  const decoded = router === null ? null : decodedBy(router, message);
  return decoded !== null && !(decoded instanceof DecodeError);
}

/** A router with this entry only, and the settings of another one; null when it is no valid entry. */
function routerOf(entry: RouteProposal, { zone, levels }: Router): Router | null {
  try {
    const routes = routesOfEntry(entry, 'durable', zone);
    return new Router(routes, { zone, levels });
  } catch {
    return null;
  }
}

function decodedBy(router: Router, { topic, payload, received }: Message): readonly Reading[] | DecodeError {
  const { route, error, ...names } = router.resolve(topic);
  return error ?? route!.decode(payload, { ...names, received, topic });
}

/**
 * A topic template for topics like this one: the last level is the metric, and those before are the device. When the
 * payload names its values, all levels are the device. Null when the names of the topic cannot be stored.
 */
export function suggestedTopic(topic: string, payload: Uint8Array | null = null): string | null {
  const levels = topic.split('/');
  const [first] = levels;
  const isLiteral = !/[{}+#\0]/.test(first!) && first !== '$share' && first!.length <= LONGEST_LEVEL;
  const candidates = isLiteral
    ? [`${first}/{device+}/{metric}`, `${first}/{device}`, '{device}']
    : ['{device+}/{metric}', '{device}'];
  // The last level of a topic that ends in "/" is empty.
  const end = topic.endsWith('/') ? '/' : '';
  const usual =
    candidates.map((each) => each + end).find((template) => namesOf(compileTopicTemplate(template), topic)) ??
    null;
  if (payload === null || usual === null || payload.length > LARGEST_TRIED) return usual;
  return namesItsValues(usual, topic, payload) ? usual.replace(/\/\{metric\}(?=\/?$)/, '') : usual;
}

/** Whether all values of a payload have names, so that the last level of its topic is a part of their device. */
function namesItsValues(template: string, topic: string, payload: Uint8Array): boolean {
  const names = compileTopicTemplate(template).match(topic);
  if (names === null || names instanceof DecodeError) return false;
  const { full } = names;
  const decoded = formats.auto!(payload, { ...names, received: now() });
  if (decoded instanceof DecodeError || typeof full !== 'string') return false;
  const isBelow = ({ device }: Reading) => device === full || device.startsWith(`${full}/`);
  return decoded.length > 0 && decoded.every(isBelow);
}

interface Suited {
  readonly name: string;
  readonly template: TopicTemplate;
  /** Whether its topics begin with a certain word. */
  readonly isCertain: boolean;
}

let known: readonly Suited[] | undefined;

/**
 * The presets that read this message, by their topics. Topics that begin with any word, such as that of a device, suit only
 * an object as payload.
 */
function presetsFor(message: Message, router: Router): readonly string[] {
  known ??= presetTopics();
  const isObject = message.payload[0] === 0x7b;
  const suited = known.filter(
    ({ template, isCertain }) => (isCertain || isObject) && namesOf(template, message.topic),
  );
  return [...new Set(suited.map(({ name }) => name))].filter((preset) => isRead({ preset }, message, router));
}

/** The topics of all presets that have a certain word and are not ignored. */
function presetTopics(): readonly Suited[] {
  return Object.values(presets).flatMap(({ name, base, routes }) =>
    routes.flatMap(({ topic, mapping }) => {
      const template = presetTopic(base, topic);
      if (mapping === 'ignore' || template.split('/').every((level) => /^[{+#]/.test(level))) return [];
      const captures = templateNames(mapping as MappingOptions);
      const isCertain = !/^[{+#]/.test(template);
      return [{ name, template: compileTopicTemplate(template, { captures }), isCertain }];
    }),
  );
}

function namesOf(template: TopicTemplate, topic: string): boolean {
  const names = template.match(topic);
  return names !== null && !(names instanceof DecodeError);
}
