import { chirpstack } from './chirpstack.ts';
import { esphome } from './esphome.ts';
import { general } from './general.ts';
import { homeAssistant } from './home-assistant.ts';
import { homie } from './homie.ts';
import { meshtastic } from './meshtastic.ts';
import { owntracks } from './owntracks.ts';
import { rtl433 } from './rtl-433.ts';
import { ruuvi } from './ruuvi.ts';
import type { SenderMessage } from './sender-message.ts';
import { shelly } from './shelly.ts';
import { tasmota } from './tasmota.ts';
import { theengs } from './theengs.ts';
import { ttn } from './ttn.ts';
import { victron } from './victron.ts';
import { wmbusmeters } from './wmbusmeters.ts';
import { zigbee2mqtt } from './zigbee2mqtt.ts';
import { zwaveJsUi } from './zwave-js-ui.ts';

/** Published messages of real senders. */
export const senderMessages: readonly SenderMessage[] = [
  ...[chirpstack, esphome, general, homeAssistant, homie, meshtastic, owntracks, rtl433, ruuvi, shelly],
  ...[tasmota, theengs, ttn, victron, wmbusmeters, zigbee2mqtt, zwaveJsUi],
].flat();
