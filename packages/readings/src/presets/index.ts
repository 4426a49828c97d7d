import { table } from '../table.ts';
import type { Preset } from './preset.ts';
import { tasmota } from './tasmota.ts';
import { zigbee2mqtt } from './zigbee2mqtt.ts';

/** Every preset, by its name in routes. */
export const presets = table<Preset>(
  Object.fromEntries([tasmota, zigbee2mqtt].map((preset) => [preset.name, preset])),
);

export const presetNames: readonly string[] = Object.freeze(Object.keys(presets));
