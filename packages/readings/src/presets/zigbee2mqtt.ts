import type { Preset } from './preset.ts';

/** https://www.zigbee2mqtt.io/guide/usage/mqtt_topics_and_messages.html */
export const zigbee2mqtt: Preset = {
  name: 'zigbee2mqtt',
  title: 'Zigbee2MQTT',
  base: 'zigbee2mqtt',
  routes: [
    // What the bridge publishes about itself and its network.
    { topic: 'bridge/#', mapping: 'ignore' },
    // `online`, or {"state": "online"} since version 1.17.
    {
      topic: '{device+}/availability',
      mapping: { metric: 'availability', value: 'state', values: { availability: 'state' }, time: false },
    },
    // Commands of other programs.
    { topic: '{device+}/set', mapping: 'ignore' },
    { topic: '{device+}/set/+', mapping: 'ignore' },
    { topic: '{device+}/get', mapping: 'ignore' },
    {
      topic: '{device+}',
      mapping: {
        // Zigbee2MQTT changes a state itself, such as occupancy after its timeout, and leaves last_seen as it was.
        time: false,
        // Descriptions of the device and of its updates, and the history of effects.
        drop: ['device', 'update', 'update.*', 'update_available', 'action_group', 'last_seen', 'elapsed'],
        values: {
          // Lights, switches, covers and locks share this name.
          state: { ON: 1, OFF: 0, OPEN: 1, CLOSE: 0, CLOSED: 0, LOCK: 1, UNLOCK: 0 },
          'state_*': { ON: 1, OFF: 0, OPEN: 1, CLOSE: 0, CLOSED: 0 },
          child_lock: { LOCK: 1, UNLOCK: 0, LOCKED: 1, UNLOCKED: 0 },
          window_detection: 'state',
          action: 'text',
        },
        units: {
          '*temperature': 'Cel',
          '*temperature_*': 'Cel',
          humidity: '%RH',
          soil_moisture: '%',
          pressure: 'hPa',
          illuminance_lux: 'lx',
          illuminance: 'lx',
          battery: '%',
          // Of mains-powered devices; batteries report millivolts under the same name.
          power: 'W',
          'power_*': 'W',
          current: 'A',
          'current_*': 'A',
          energy: 'kWh',
          co2: 'ppm',
          pm25: 'ug/m3',
          pm10: 'ug/m3',
        },
      },
    },
  ],
};
