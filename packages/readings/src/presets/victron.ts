import type { Preset } from './preset.ts';

/** https://github.com/victronenergy/dbus-flashmq#notifications */
export const victron: Preset = {
  name: 'victron',
  title: 'Victron Energy (Venus OS)',
  base: 'N',
  routes: [
    { topic: '+/full_publish_completed', mapping: 'ignore' },
    { topic: '+/keepalive', mapping: 'ignore' },
    {
      topic: '{portal}/{service}/{instance}/{metric+}',
      mapping: {
        device: '{portal}/{service}/{instance}',
        value: 'value',
        time: false,
        values: { '*': 'any' },
        units: {
          '*Power': 'W',
          '*Voltage': 'V',
          '*Current': 'A',
          '*Frequency': 'Hz',
          Soc: '%EL',
          '*Temperature': 'Cel',
        },
      },
    },
  ],
};
