import {
  compileTopicTemplate,
  DecodeError,
  formats,
  type MappingOptions,
  now,
  presets,
  presetTopic,
  type Reading,
  type RouteProposal,
  type TopicTemplate,
  templateNames,
} from '@tidegauge/readings';

/** A longer first level is not proposed, in UTF-16 units. */
const LONGEST_LEVEL = 500;

/** A longer payload is not tried with a proposed route, bytes. */
const LONGEST_TRIED = 65_536;

/** What of an error decides how it is fixed. */
export interface Failure {
  /** A reason of `DecodeError`, or of a store. */
  readonly reason: string;
  readonly message: string;
}

/**
 * The setting that makes a message like this one readable; null when the sender must change.
 *
 * @param payload that of the message, if it is known
 */
export function fixOf(
  { reason, message }: Failure,
  topic: string,
  preset: string | null,
  payload: Uint8Array | null = null,
): string | null {
  const suited = preset === null ? presetsOf(topic) : [];
  const hint =
    suited.length === 0
      ? ''
      : `, or the preset of its sender: - preset: ${suited.join(' (or ')}${')'.repeat(suited.length - 1)}`;
  switch (reason) {
    case 'unknown_topic': {
      const routes = proposalsFor(topic, payload).map((each) =>
        'preset' in each ? `- preset: ${each.preset}` : `- topic: ${each.topic}`,
      );
      return routes.length === 0 ? null : `add a route: ${routes.join(', or ')}`;
    }
    case 'invalid_time':
      return `set how its time is read: mapping: { time: { field: NAME, zone: Europe/Berlin } }, or mapping: { time: false } for the time of receipt${hint}`;
    case 'invalid_name':
      if (message.includes(' set mapping: ')) return message.slice(message.indexOf('set mapping: '));
      return /names a device|device/.test(message)
        ? `name the device in the topic of the route ({device}), or mapping: { device: '{FIELD}' }${hint}`
        : `name the metric in the topic of the route ({metric}), or mapping: { metric: '{FIELD}' }, or rename it: mapping: { rename: { FIELD: NAME } }${hint}`;
    case 'malformed':
    case 'invalid_value':
      return `set how its values are read: format: text, or mapping: { values: { '*': text } } or a table of words and numbers${hint}`;
    case 'too_many_readings':
      if (!/readings in one payload/.test(message)) return 'send less in one message';
      return `read only a part: mapping: { records: PATH } or mapping: { keep: [PATTERN] }${hint}`;
    case 'too_large':
      return 'raise MAX_PAYLOAD, or send less in one message';
    default:
      return null;
  }
}

/**
 * Routes that take this topic: the presets of its sender, and a route for topics like it. Each is an entry of a routes
 * file.
 */
export function proposalsFor(topic: string, payload: Uint8Array | null = null): readonly RouteProposal[] {
  const own = suggestedTopic(topic, payload);
  return [...presetsOf(topic).map((preset) => ({ preset })), ...(own === null ? [] : [{ topic: own }])];
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
  const usual = candidates.find((template) => namesOf(compileTopicTemplate(template), topic)) ?? null;
  if (payload === null || usual === null || payload.length > LONGEST_TRIED) return usual;
  return namesItsValues(usual, topic, payload) ? usual.replace(/\/\{metric\}$/, '') : usual;
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
}

let known: readonly Suited[] | undefined;

/** The presets with a topic that this topic matches, except those whose topics begin with any word. */
function presetsOf(topic: string): readonly string[] {
  known ??= presetTopics();
  return [...new Set(known.filter(({ template }) => namesOf(template, topic)).map(({ name }) => name))];
}

/** The topics of all presets that begin with a certain word and are not ignored. */
function presetTopics(): readonly Suited[] {
  return Object.values(presets).flatMap(({ name, base, routes }) =>
    routes.flatMap(({ topic, mapping }) => {
      const template = presetTopic(base, topic);
      if (mapping === 'ignore' || /^[{+#]/.test(template)) return [];
      const captures = templateNames(mapping as MappingOptions);
      return [{ name, template: compileTopicTemplate(template, { captures }) }];
    }),
  );
}

function namesOf(template: TopicTemplate, topic: string): boolean {
  const names = template.match(topic);
  return names !== null && !(names instanceof DecodeError);
}
