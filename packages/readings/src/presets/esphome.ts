import type { Preset } from './preset.ts';

/** https://esphome.io/components/mqtt.html: `<prefix>/<type>/<name>/state`. */
export const esphome: Preset = {
  name: 'esphome',
  title: 'ESPHome',
  base: '',
  routes: [
    { topic: '{device}/text_sensor/{metric}/state', mapping: { time: false, values: { '*': 'text' } } },
    {
      topic: '{device}/+/{metric}/state',
      mapping: { metric: '{metric}.{field}', time: false, values: { '*': 'any' } },
    },
    { topic: '{device}/status', mapping: { metric: 'status', values: { status: 'state' } } },
  ],
};
