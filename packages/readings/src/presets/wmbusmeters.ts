import type { Preset } from './preset.ts';

/**
 * https://github.com/wmbusmeters/wmbusmeters, with `mosquitto_pub -t wmbusmeters/$METER_ID -m "$METER_JSON"`. The ID of
 * the payload is the device, because all meters, or those of one name, can have the same topic.
 */
export const wmbusmeters: Preset = {
  name: 'wmbusmeters',
  title: 'wmbusmeters',
  base: 'wmbusmeters',
  routes: [
    {
      topic: '{device}',
      mapping: {
        device: '{id|device}',
        time: { field: 'timestamp' },
        drop: ['_', 'media', 'meter', 'name', 'device', 'collector', '*_date', '*_datetime'],
        values: { '*status*': 'text' },
        units: {
          '*_m3': 'm3',
          '*_kwh': 'kWh',
          '*_kw': 'kW',
          '*_c': 'Cel',
          '*temperature': 'Cel',
          '*_l': 'l',
          '*_v': 'V',
          '*_a': 'A',
          '*rssi_dbm': 'dBm',
        },
      },
    },
  ],
};
