import { table } from '../table.ts';
import { chirpstack } from './chirpstack.ts';
import { esphome } from './esphome.ts';
import { homeAssistant } from './home-assistant.ts';
import { homie } from './homie.ts';
import { meshtastic } from './meshtastic.ts';
import { owntracks } from './owntracks.ts';
import type { Preset } from './preset.ts';
import { rtl433 } from './rtl-433.ts';
import { ruuvi } from './ruuvi.ts';
import { shelly } from './shelly.ts';
import { tasmota } from './tasmota.ts';
import { theengs } from './theengs.ts';
import { ttn } from './ttn.ts';
import { victron } from './victron.ts';
import { wmbusmeters } from './wmbusmeters.ts';
import { zigbee2mqtt } from './zigbee2mqtt.ts';
import { zwaveJsUi } from './zwave-js-ui.ts';

const ALL: readonly Preset[] = [
  ...[chirpstack, esphome, homeAssistant, homie, meshtastic, owntracks, rtl433, ruuvi, shelly, tasmota],
  ...[theengs, ttn, victron, wmbusmeters, zigbee2mqtt, zwaveJsUi],
];

/** Every preset, by its name in routes. */
export const presets = table<Preset>(Object.fromEntries(ALL.map((preset) => [preset.name, preset])));

export const presetNames: readonly string[] = Object.freeze(Object.keys(presets));
