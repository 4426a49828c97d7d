import type { SenderMessage } from './sender-message.ts';

/** wmbusmeters, with the shell command of its README. */
export const wmbusmeters: readonly SenderMessage[] = [
  {
    source: 'wmbusmeters/wmbusmeters, README.md',
    topic: 'wmbusmeters/33225544',
    payload: `{
    "_":"telegram",
    "media":"water",
    "meter":"iperl",
    "name":"MyTapWater",
    "id":"33225544",
    "max_flow_m3h":0,
    "total_m3":123.529,
    "timestamp":"2024-03-03T18:37:00Z"
}`,
    preset: 'wmbusmeters',
    time: '2024-03-03T18:37:00.000000Z',
    readings: [
      ['33225544', 'max_flow_m3h', 0],
      ['33225544', 'total_m3', 123.529],
    ],
    auto: 'values',
  },
  {
    source: 'wmbusmeters/wmbusmeters, README.md',
    topic: 'wmbusmeters/55775511',
    payload: `{
    "media":"heat",
    "meter":"kamheat",
    "name":"Heato",
    "id":"55775511",
    "status":"OK",
    "total_energy_consumption_kwh":3781,
    "total_volume_m3":344.27,
    "volume_flow_m3h":1.005,
    "t1_temperature_c":59.53,
    "t2_temperature_c":52.74,
    "forward_energy_m3c":21570,
    "return_energy_m3c":18272,
    "meter_date":"2022-12-10",
    "target_energy_kwh":2933,
    "target_volume_m3":267.97,
    "target_date":"2022-12-01",
    "total_l":344270,
    "approx_power_m3ch":6.82395,
    "total_mj":13611.6,
    "timestamp":"2023-01-14T07:20:22Z",
    "collector":"cm57829"
}`,
    preset: 'wmbusmeters',
    time: '2023-01-14T07:20:22.000000Z',
    readings: [
      ['55775511', 'status', 'OK'],
      ['55775511', 'total_energy_consumption_kwh', 3781],
      ['55775511', 'total_volume_m3', 344.27],
      ['55775511', 'volume_flow_m3h', 1.005],
      ['55775511', 't1_temperature_c', 59.53],
      ['55775511', 't2_temperature_c', 52.74],
      ['55775511', 'forward_energy_m3c', 21570],
      ['55775511', 'return_energy_m3c', 18272],
      ['55775511', 'target_energy_kwh', 2933],
      ['55775511', 'target_volume_m3', 267.97],
      ['55775511', 'total_l', 344270],
      ['55775511', 'approx_power_m3ch', 6.82395],
      ['55775511', 'total_mj', 13611.6],
    ],
    auto: 'values',
  },
  {
    source: 'wmbusmeters/wmbusmeters, src/driver_mkradio4a.cc (a test; the topic is one for all meters)',
    topic: 'wmbusmeters/all',
    payload:
      '{"media":"warm water","meter":"mkradio4a","name":"www3","id":"66953825","Water_previous_m3":16.1,"Previous_date":"2021-12-31","timestamp":"2022-11-21T12:07:44Z","device":"rtlwmbus[00000001]","rssi_dbm":82}',
    preset: 'wmbusmeters',
    time: '2022-11-21T12:07:44.000000Z',
    readings: [
      ['66953825', 'Water_previous_m3', 16.1],
      ['66953825', 'rssi_dbm', 82],
    ],
    units: { Water_previous_m3: 'm3' },
  },
];
