import {
  compileTopicTemplate,
  DecodeError,
  type ExplainDocument,
  type MappingOptions,
  type Notes,
  presets,
  presetTopic,
  templateNames,
  toReadingDocument,
} from '@tidegauge/readings';
import type { Router } from './routes.ts';

/** Readings and ignored fields of an explanation at most. */
const MOST_LISTED = 1000;

/**
 * What the routes make of a message: its route and names, the readings with their units and the ignored fields, or the
 * reason why it would go to quarantine, and a setting that changes that. Nothing is stored or counted.
 *
 * @param received the time of receipt to assume, microseconds since the epoch
 */
export function explain(
  router: Router,
  topic: string,
  payload: Uint8Array,
  received: number,
): ExplainDocument {
  const { route, device, metric, captured, error } = router.resolve(topic);
  const notes = new Collected();
  const decoded = error ?? route!.decode(payload, { device, metric, received, captured, topic, notes });
  const failed = decoded instanceof DecodeError ? decoded : null;
  const readings = decoded instanceof DecodeError ? [] : decoded;
  return {
    topic,
    ...(route === null
      ? { route: null }
      : {
          route: {
            name: route.name,
            topic: route.template.template,
            format: route.format,
            ...(route.preset === null ? {} : { preset: route.preset }),
          },
        }),
    device,
    metric,
    total: readings.length,
    readings: readings.slice(0, MOST_LISTED).map((reading) => {
      const unit = notes.units.get(`${reading.device} ${reading.metric}`);
      return { ...toReadingDocument(reading), ...(unit === undefined ? {} : { unit }) };
    }),
    ignored: notes.ignoredFields,
    ...(failed === null
      ? {}
      : {
          error: { reason: failed.reason, message: failed.message, position: failed.position },
          fix: fixOf(failed, topic, route?.preset ?? null),
        }),
  };
}

class Collected implements Notes {
  readonly units = new Map<string, string>();
  readonly ignoredFields: { field: string; reason: string }[] = [];

  unit(device: string, metric: string, unit: string): void {
    this.units.set(`${device} ${metric}`, unit);
  }

  ignored(field: string, why: string): void {
    if (this.ignoredFields.length < MOST_LISTED) this.ignoredFields.push({ field, reason: why });
  }
}

/** The setting that makes a message like this one readable; null when the sender must change. */
export function fixOf({ reason, message }: DecodeError, topic: string, preset: string | null): string | null {
  const suited = preset === null ? presetsOf(topic) : [];
  const hint =
    suited.length === 0
      ? ''
      : `, or the preset of its sender: - preset: ${suited.join(' (or ')}${')'.repeat(suited.length - 1)}`;
  switch (reason) {
    case 'unknown_topic':
      return suited.length > 0 && /^[^{+#]/.test(suited[0]!)
        ? `add a route: - preset: ${suited.join(', or - preset: ')}, or - topic: ${suggestedTopic(topic)}`
        : `add a route: - topic: ${suggestedTopic(topic)}`;
    case 'invalid_time':
      return `set how its time is read: mapping: { time: { field: NAME, zone: Europe/Berlin } }, or mapping: { time: false } for the time of receipt${hint}`;
    case 'invalid_name':
      return /names a device|device/.test(message)
        ? `name the device in the topic of the route ({device}), or mapping: { device: '{FIELD}' }${hint}`
        : `name the metric in the topic of the route ({metric}), or mapping: { metric: '{FIELD}' }, or rename it: mapping: { rename: { FIELD: NAME } }${hint}`;
    case 'malformed':
    case 'invalid_value':
      return `set how its values are read: format: text, or mapping: { values: { '*': text } } or a table of words and numbers${hint}`;
    case 'too_many_readings':
      return `read only a part: mapping: { records: PATH } or mapping: { keep: [PATTERN] }${hint}`;
    case 'too_large':
      return 'raise MAX_PAYLOAD, or send less in one message';
    default:
      return null;
  }
}

/** The presets with a topic that this topic matches, except those whose topics begin with any word. */
function presetsOf(topic: string): readonly string[] {
  return Object.values(presets)
    .filter(({ base, routes }) =>
      routes.some(({ topic: below, mapping }) => {
        if (mapping === 'ignore') return false;
        const template = presetTopic(base, below);
        if (/^[{+#]/.test(template)) return false;
        const captures = templateNames(mapping as MappingOptions);
        const names = compileTopicTemplate(template, { captures }).match(topic);
        return names !== null && !(names instanceof DecodeError);
      }),
    )
    .map(({ name }) => name);
}

/** A topic template for topics like this one: the last level is the metric, and those before are the device. */
function suggestedTopic(topic: string): string {
  const levels = topic.split('/').map((level) => level.replace(/[{}+#]/g, '_'));
  if (levels.length === 1) return '{device}';
  if (levels.length === 2) return `${levels[0]}/{device}`;
  return `${levels[0]}/{device+}/{metric}`;
}
