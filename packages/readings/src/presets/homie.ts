import type { MappingOptions } from '../mapping/options.ts';
import type { Preset } from './preset.ts';

// A property is number, boolean, text or enumeration. Only attributes, which are not read, tell which.
const PROPERTY: MappingOptions = { metric: '{node}.{property}', time: false, values: { '*': 'any' } };

/** https://homieiot.github.io/specification/, versions 3 to 5. Attributes begin with `$`. */
export const homie: Preset = {
  name: 'homie',
  title: 'Homie',
  base: 'homie',
  routes: [
    { topic: '5/{device}/{node}/{property}', mapping: { ...PROPERTY, drop: ['$*', '*.$*'] } },
    { topic: '5/#', mapping: 'ignore' },
    { topic: '{device}/{node}/{property}', mapping: { ...PROPERTY, drop: ['$*', '*.$*'] } },
    { topic: '#', mapping: 'ignore' },
  ],
};
