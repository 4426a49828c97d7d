import type { Preset } from './preset.ts';

/** Fields that describe the receiver or the transmission, and not the sensor. */
export const TRANSMISSION = [
  ...[
    'mic',
    'mod',
    'freq',
    'freq1',
    'freq2',
    'protocol',
    'type',
    'subtype',
    'message_type',
    'sequence_num',
    'raw_msg',
  ],
  ...['exception', 'rows', 'num_rows', 'count', 'codes', 'data', 'duration'],
];
/** The units of the fields of rtl_433, which end in them. */
export const RTL_433_UNITS = {
  'temperature_*C': 'Cel',
  'temperature_*F': '°F',
  'humidity*': '%RH',
  moisture: '%',
  'pressure*_hPa': 'hPa',
  'pressure*_kPa': 'kPa',
  'pressure*_PSI': 'psi',
  rain_mm: 'mm',
  rain_in: 'in',
  rain_rate_mm_h: 'mm/h',
  rain_rate_in_h: 'in/h',
  'wind_*_m_s': 'm/s',
  'wind_*_km_h': 'km/h',
  'wind_*_mi_h': 'mph',
  depth_cm: 'cm',
  wind_dir_deg: 'deg',
  light_lux: 'lx',
  power_W: 'W',
  current_A: 'A',
  energy_kWh: 'kWh',
  battery_V: 'V',
  battery_mV: 'mV',
  'rssi*': 'dB',
  'snr*': 'dB',
  'noise*': 'dB',
} as const;

// Time is local unless rtl_433 has the option -M time:utc or time:tz, so it is used with an offset only.
export const rtl433: Preset = {
  name: 'rtl_433',
  title: 'rtl_433',
  base: 'rtl_433',
  routes: [
    {
      topic: '{host}/events',
      mapping: {
        // `unit` is the button of a remote, and `device` the ID in versions from before 2019.
        device: '{host|}/{model}/{subtype|}/{channel|}/{id|device|}/{unit|}',
        time: { field: 'time', zone: 'unknown' },
        drop: TRANSMISSION,
        units: RTL_433_UNITS,
      },
    },
    {
      topic: '{host}/devices/{device+}/{metric}',
      mapping: {
        device: '{host|}/{device}',
        time: false,
        drop: [...TRANSMISSION, 'time', 'id', 'channel', 'model'],
        values: { '*': 'any' },
        units: RTL_433_UNITS,
      },
    },
    { topic: '#', mapping: 'ignore' },
  ],
};
