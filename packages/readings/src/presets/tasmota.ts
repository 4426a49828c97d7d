import type { MappingOptions } from '../mapping/options.ts';
import type { Preset } from './preset.ts';

const STATES = { 'POWER*': 'state', 'Switch*': 'state', 'StatusSNS.Switch*': 'state' } as const;

// Time is local, without an offset, so it is used only when the route sets the zone of time. DS18B20-1 and so on are
// numbered by their order on the bus, which changes when one fails: the Id is the address of the probe.
const SENSOR: MappingOptions = {
  time: { field: ['Time'], zone: 'unknown' },
  drop: [
    ...['TempUnit', 'PressureUnit', 'SpeedUnit', '*.TotalStartTime', 'Epoch', 'Zeit'],
    ...['mac', 'alias', '*.mac', '*.alias'],
  ],
  values: { ...STATES, '*.Id': 'text' },
  units: {
    '*Temperature': '{TempUnit}',
    '*DewPoint': '{TempUnit}',
    '*Humidity': '%RH',
    '*Pressure': '{PressureUnit}',
    '*SeaPressure': '{PressureUnit}',
    '*Illuminance': 'lx',
    '*CarbonDioxide': 'ppm',
    '*eCO2': 'ppm',
    '*TVOC': 'ppb',
    '*ENERGY.Total': 'kWh',
    '*ENERGY.Total.*': 'kWh',
    '*ENERGY.Today': 'kWh',
    '*ENERGY.Yesterday': 'kWh',
    '*ENERGY.Period': 'Wh',
    '*ENERGY.Power': 'W',
    '*ENERGY.Power.*': 'W',
    '*ENERGY.ApparentPower*': 'VA',
    '*ENERGY.ReactivePower*': 'var',
    '*ENERGY.Factor*': '/',
    '*ENERGY.Voltage*': 'V',
    '*ENERGY.Current*': 'A',
    '*ENERGY.Frequency': 'Hz',
  },
};

/** https://tasmota.github.io/docs/MQTT/ and https://tasmota.github.io/docs/JSON-Status-Responses/ */
export const tasmota: Preset = {
  name: 'tasmota',
  title: 'Tasmota',
  base: '',
  routes: [
    { topic: 'tele/{device}/SENSOR', mapping: SENSOR },
    {
      topic: 'tele/{device}/STATE',
      mapping: {
        time: { field: ['Time'], zone: 'unknown' },
        drop: [
          'Uptime',
          'SleepMode',
          'Wifi.SSId',
          'Wifi.BSSId',
          'Wifi.Mode',
          'Wifi.Downtime',
          'Color',
          'HSBColor',
        ],
        values: STATES,
        units: { UptimeSec: 's', Heap: 'KiB', Vcc: 'V', 'Wifi.RSSI': '%', 'Wifi.Signal': 'dBm', Dimmer: '%' },
      },
    },
    { topic: 'tele/{device}/LWT', mapping: { metric: 'LWT', values: { LWT: 'state' } } },
    // A Bluetooth sensor, whichever board receives it.
    { topic: 'tele/tasmota_ble/{device}', mapping: SENSOR },
    { topic: 'tele/{device}/+', mapping: 'ignore' },
    // A sensor that reports at once.
    { topic: 'stat/{device}/SENSOR', mapping: SENSOR },
    { topic: 'stat/{device}/STATUS10', mapping: { ...SENSOR, records: 'StatusSNS' } },
    // Answers to all commands. stat/plug/POWER1 and stat/plug/SHUTTER1 repeat values of it.
    {
      topic: 'stat/{device}/RESULT',
      mapping: {
        keep: ['POWER*', 'Dimmer', 'CT', 'Switch*', 'Button*.Action', 'Shutter*.*'],
        values: { '*.Action': 'text', ...STATES },
      },
    },
    { topic: 'stat/{device}/POWER', mapping: 'ignore' },
    { topic: 'stat/{device}/+', mapping: 'ignore' },
    { topic: 'cmnd/#', mapping: 'ignore' },
  ],
};
