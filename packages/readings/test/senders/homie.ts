import type { SenderMessage } from './sender-message.ts';

/** The Homie convention, versions 3 to 5. */
export const homie: readonly SenderMessage[] = [
  {
    source: 'homieiot/convention v4.0.0, convention.md',
    topic: 'homie/super-car/engine/temperature',
    payload: '21.5',
    preset: 'homie',
    readings: [['super-car', 'engine.temperature', 21.5]],
    auto: 'same',
  },
  {
    source: 'homieiot/convention v4.0.0, convention.md',
    topic: 'homie/kitchen-light/light/power',
    payload: 'true',
    preset: 'homie',
    readings: [['kitchen-light', 'light.power', 1]],
    auto: 'same',
  },
  {
    source: 'homieiot/convention v4.0.0, convention.md',
    topic: 'homie/super-car/engine/temperature/$unit',
    payload: '°C',
    preset: 'homie',
    readings: [],
  },
  {
    source: 'homieiot/convention v4.0.0, convention.md',
    topic: 'homie/super-car/$state',
    payload: 'ready',
    preset: 'homie',
    readings: [],
  },
  {
    source: 'homieiot/convention v4.0.0, convention.md',
    topic: 'homie/super-car/engine/$properties',
    payload: 'speed,direction,temperature',
    preset: 'homie',
    readings: [],
  },
  {
    source: 'homieiot/convention (version 5), convention.md',
    topic: 'homie/5/super-car/engine/temperature',
    payload: '21.5',
    preset: 'homie',
    readings: [['super-car', 'engine.temperature', 21.5]],
    auto: 'same',
  },
  {
    source: 'homieiot/convention (version 5), convention.md',
    topic: 'homie/5/kitchen-light/light/brightness',
    payload: '20',
    preset: 'homie',
    readings: [['kitchen-light', 'light.brightness', 20]],
    auto: 'same',
  },
  {
    source: 'homieiot/convention (version 5), convention.md',
    topic: 'homie/5/kitchen-light/light/brightness/$target',
    payload: '100',
    preset: 'homie',
    readings: [],
  },
  {
    source: 'homieiot/convention (version 5), convention.md',
    topic: 'homie/5/super-car/$state',
    payload: 'init',
    preset: 'homie',
    readings: [],
  },
  {
    source: 'homieiot/convention (version 5), convention.md',
    topic: 'homie/5/mydevid/$alert/battery',
    payload: 'Battery is low, at 8%',
    preset: 'homie',
    readings: [],
  },
];
