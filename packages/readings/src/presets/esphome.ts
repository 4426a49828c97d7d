import type { Preset } from './preset.ts';

/** Components whose states are words of which only some are on, off or open. */
const WORDS = ['alarm_control_panel', 'cover', 'event', 'lock', 'select', 'text', 'text_sensor', 'valve'];
const TEXTS = Object.fromEntries(WORDS.map((type) => [`${type}.*`, 'text'] as const));

/**
 * https://esphome.io/components/mqtt.html: `<prefix>/<type>/<name>/state`. Names differ within a type only, so the type is in
 * the metric, unless it is the most usual one.
 */
export const esphome: Preset = {
  name: 'esphome',
  title: 'ESPHome',
  base: '',
  routes: [
    {
      topic: '{device}/sensor/{metric}/state',
      mapping: { metric: '{metric}.{field}', time: false, values: { '*': 'any' } },
    },
    {
      topic: '{device}/{type}/{name}/state',
      mapping: { metric: '{type}.{name}.{field}', time: false, values: { ...TEXTS, '*': 'any' } },
    },
    {
      // Parts of a climate, a cover or a fan.
      topic: '{device}/{type}/{name}/{part}/state',
      mapping: {
        metric: '{type}.{name}.{part}',
        time: false,
        values: { '*mode': 'text', '*.action': 'text', '*.preset': 'text', '*': 'any' },
      },
    },
    { topic: '{device}/status', mapping: { metric: 'status', values: { status: 'state' } } },
  ],
};
