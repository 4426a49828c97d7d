import type { Preset, PresetRoute } from './preset.ts';

/** Components whose states are words of which only some are on, off or open. */
const WORDS = ['alarm_control_panel', 'cover', 'event', 'lock', 'select', 'text', 'text_sensor', 'valve'];

/** https://esphome.io/components/mqtt.html: `<prefix>/<type>/<name>/state`. */
export const esphome: Preset = {
  name: 'esphome',
  title: 'ESPHome',
  base: '',
  routes: [
    ...WORDS.map(
      (type): PresetRoute => ({
        topic: `{device}/${type}/{metric}/state`,
        mapping: { time: false, values: { '*': 'text' } },
      }),
    ),
    {
      topic: '{device}/+/{metric}/state',
      mapping: { metric: '{metric}.{field}', time: false, values: { '*': 'any' } },
    },
    {
      // Parts of a climate, a cover or a fan.
      topic: '{device}/+/{name}/{part}/state',
      mapping: {
        metric: '{name}.{part}',
        time: false,
        values: { '*mode': 'text', '*.action': 'text', '*.preset': 'text', '*': 'any' },
      },
    },
    { topic: '{device}/status', mapping: { metric: 'status', values: { status: 'state' } } },
  ],
};
