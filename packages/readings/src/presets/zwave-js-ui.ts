import type { Preset } from './preset.ts';

/**
 * https://zwave-js.github.io/zwave-js-ui/#/usage/setup?id=gateway, with named topics: a location, a node, and a value.
 */
export const zwaveJsUi: Preset = {
  name: 'zwave-js-ui',
  title: 'Z-Wave JS UI',
  base: 'zwave',
  routes: [
    { topic: '_CLIENTS/#', mapping: 'ignore' },
    { topic: '+/+/nodeinfo', mapping: 'ignore' },
    { topic: '+/+/status', mapping: 'ignore' },
    { topic: '+/+/lastActive', mapping: 'ignore' },
    {
      topic: '{location}/{node}/{metric+}',
      mapping: {
        // A route for nodes without a location has its own topic, with {device}.
        device: '{location|}/{node|device}',
        time: { field: 'time' },
        value: 'value',
        // Commands of other programs.
        drop: ['*.set'],
        values: { '*': 'any' },
      },
    },
    { topic: '#', mapping: 'ignore' },
  ],
};
