import type { Preset } from './preset.ts';

/**
 * https://docs.ruuvi.com/ruuvi-gateway-firmware/data-formats. A tag is the device, whichever gateway receives it. Its
 * values are in the Bluetooth advertisement, and with newer firmware decoded beside it.
 */
export const ruuvi: Preset = {
  name: 'ruuvi',
  title: 'Ruuvi Gateway',
  base: 'ruuvi',
  routes: [
    { topic: '+/gw_status', mapping: 'ignore' },
    {
      topic: '+/{device}',
      mapping: {
        parse: { data: 'ruuvi' },
        time: { field: 'ts', unit: 's' },
        drop: [
          'gw_mac',
          'gwts',
          'cnt',
          'aoa',
          'coords',
          'dataFormat',
          'id',
          'name',
          'ble_phy',
          'ble_chan',
          'ble_tx_power',
        ],
        rename: { 'data.*': '*' },
        units: {
          temperature: 'Cel',
          humidity: '%RH',
          pressure: 'Pa',
          voltage: 'V',
          txPower: 'dBm',
          rssi: 'dBm',
          'PM*': 'ug/m3',
          CO2: 'ppm',
          luminosity: 'lx',
        },
      },
    },
  ],
};
