import type { MappingOptions } from '../mapping/options.ts';
import type { Preset } from './preset.ts';

const UNITS = {
  '*power': 'W',
  '*voltage': 'V',
  '*current': 'A',
  '*freq': 'Hz',
  '*aenergy.total': 'Wh',
  'emeter.*total*': 'Wh',
  temperature: 'Cel',
  '*.temperature': 'Cel',
  '*tC': 'Cel',
  '*humidity': '%RH',
  '*rh': '%RH',
  '*lux': 'lx',
  'devicepower:*V': 'V',
  'devicepower:*percent': '%EL',
  '*rssi': 'dBm',
} as const;

/** Parts of a status that are no measurements, or repeat one. */
const NO_MEASUREMENTS = [
  ...[
    'id',
    'source',
    '*.id',
    '*.source',
    '*tag',
    '*tF',
    '*.by_minute',
    '*by_minute',
    '*minute_ts',
    '*_rst_ts',
    '*last_update_ts',
  ],
  ...['*_rev', 'sys.mac', 'sys.time', 'sys.unixtime', 'sys.restart_required', 'sys.ram_size', 'sys.fs_size'],
  ...['sys.available_updates', 'sys.wakeup_*', 'wifi.sta_ip', 'wifi.status', 'wifi.ssid'],
];

// NotifyStatus and NotifyFullStatus have the components in params, NotifyEvent a list of events. Scripts that forward
// Bluetooth sensors send all of them as events of the script, with the address of the sensor. `idx` is the button of a
// remote. ble.scan_result has a list of raw advertisements, each of any sensor.
const NOTIFICATION: MappingOptions = {
  records: ['params', 'params.events'],
  device: '{device}/{data.address|data.addr|data.mac|data.device|}',
  metric: '{component|}.{idx|}.{field}',
  time: { field: 'ts', unit: 's' },
  drop: ['events', 'script:*', 'data.1.*.*', ...NO_MEASUREMENTS],
  units: UNITS,
};

const STATUS: MappingOptions = {
  metric: '{metric}.{field}',
  time: false,
  drop: [
    ...NO_MEASUREMENTS,
    ...[
      'mac',
      'time',
      'unixtime',
      'restart_required',
      'ram_size',
      'fs_size',
      'available_updates',
      'wakeup_*',
    ],
    ...['sta_ip', 'status', 'ssid', 'bssid'],
  ],
  units: UNITS,
};

const ONLINE: MappingOptions = { metric: 'online', values: { online: 'state' } };

/**
 * First generation: https://shelly-api-docs.shelly.cloud/gen1/#mqtt-support. Second and later generations:
 * https://shelly-api-docs.shelly.cloud/gen2/ComponentsAndServices/Mqtt, whose topics begin with the name of the
 * device, or with what the user sets.
 */
export const shelly: Preset = {
  name: 'shelly',
  title: 'Shelly',
  base: '',
  routes: [
    { topic: '{device}/events/rpc', mapping: NOTIFICATION },
    { topic: '{device}/status/{metric}', mapping: STATUS },
    { topic: '{device}/online', mapping: ONLINE },
    { topic: 'shellies/announce', mapping: 'ignore' },
    { topic: 'shellies/command', mapping: 'ignore' },
    { topic: 'shellies/{device}/announce', mapping: 'ignore' },
    { topic: 'shellies/{device}/info', mapping: 'ignore' },
    { topic: 'shellies/{device}/rpc', mapping: 'ignore' },
    { topic: 'shellies/{device}/command/#', mapping: 'ignore' },
    { topic: 'shellies/{device}/+/+/command/#', mapping: 'ignore' },
    { topic: 'shellies/{device}/+/+/set', mapping: 'ignore' },
    { topic: 'shellies/{device}/events/rpc', mapping: NOTIFICATION },
    { topic: 'shellies/{device}/status/{metric}', mapping: STATUS },
    // open, close and stop, of which two only are words for states.
    {
      topic: 'shellies/{device}/roller/{roller}',
      mapping: { metric: 'roller.{roller}', values: { '*': 'text' } },
    },
    {
      topic: 'shellies/{device}/{metric+}',
      mapping: {
        metric: '{metric}.{field}',
        time: false,
        values: { 'relay.*': 'state', '*': 'any' },
        units: UNITS,
      },
    },
  ],
};
