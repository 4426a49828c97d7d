import type { SenderMessage } from './sender-message.ts';

/** rtl_433, MQTT output: JSON events, and a value per topic. */
export const rtl433: readonly SenderMessage[] = [
  {
    source: 'merbanan/rtl_433, docs/OPERATION.md (the topic is the default of README.md)',
    topic: 'rtl_433/raspi/events',
    payload:
      '{"time":"2019-08-29 08:38:19","model":"Nexus-TH","id":42,"channel":2,"battery_ok":1,"temperature_C":20.5,"humidity":83}',
    preset: 'rtl_433',
    readings: [
      ['raspi/Nexus-TH/2/42', 'battery_ok', 1],
      ['raspi/Nexus-TH/2/42', 'temperature_C', 20.5],
      ['raspi/Nexus-TH/2/42', 'humidity', 83],
    ],
    units: { temperature_C: 'Cel', humidity: '%RH' },
    auto: 'no',
  },
  {
    source: 'merbanan/rtl_433, issue 2221 (the topic is the default of README.md)',
    topic: 'rtl_433/raspi/events',
    payload:
      '{"time":"2022-10-29 18:42:29","model":"Fineoffset-WH2","id":37,"temperature_C":17.4,"mic":"CRC"}',
    preset: 'rtl_433',
    readings: [['raspi/Fineoffset-WH2/37', 'temperature_C', 17.4]],
    auto: 'no',
  },
  {
    source: 'merbanan/rtl_433, docs/INTEGRATION.md (option devices)',
    topic: 'sensors/rtl_433/P25/C1/temperature_C',
    payload: '33.200001',
    preset: 'rtl_433',
    template: 'sensors/rtl_433/{device+}/{metric}',
    readings: [['P25/C1', 'temperature_C', 33.200001]],
    auto: 'same',
  },
  {
    source: 'merbanan/rtl_433, docs/INTEGRATION.md (option devices)',
    topic: 'sensors/rtl_433/P25/C1/mic',
    payload: 'CRC',
    preset: 'rtl_433',
    template: 'sensors/rtl_433/{device+}/{metric}',
    readings: [],
  },
  {
    source: 'merbanan/rtl_433, docs/INTEGRATION.md (topic), issue 2221 (value)',
    topic: 'rtl_433/host/devices/Prologue-TH/5/3/temperature_C',
    payload: '17.4',
    preset: 'rtl_433',
    readings: [['host/Prologue-TH/5/3', 'temperature_C', 17.4]],
    auto: 'values',
  },
  {
    source: 'merbanan/rtl_433, issue 2221 (the topic is the default of README.md)',
    topic: 'rtl_433/raspi/devices/Fineoffset-WH2/37/time',
    payload: '2022-10-29 18:42:29',
    preset: 'rtl_433',
    readings: [],
  },
  {
    source: 'merbanan/rtl_433, issue 1720 (the name of the receiver is our own)',
    topic: 'rtl_433/pi/events',
    payload:
      '{"time" : "2021-05-21 18:37:27.002657", "model" : "Fineoffset-WH2A", "id" : 11, "temperature_C" : 24.300, "humidity" : 38, "mic" : "CRC", "mod" : "ASK", "freq" : 433.914, "rssi" : -0.124, "snr" : 6.288, "noise" : -6.412}',
    preset: 'rtl_433',
    readings: [
      ['pi/Fineoffset-WH2A/11', 'temperature_C', 24.3],
      ['pi/Fineoffset-WH2A/11', 'humidity', 38],
      ['pi/Fineoffset-WH2A/11', 'rssi', -0.124],
      ['pi/Fineoffset-WH2A/11', 'snr', 6.288],
      ['pi/Fineoffset-WH2A/11', 'noise', -6.412],
    ],
    ignored: ['time'],
  },
  {
    source: 'merbanan/rtl_433, pull request 705 (without the time, which is that of a recording)',
    topic: 'rtl_433/pi/events',
    payload:
      '{"model" : "Ambient Weather F007TH Thermo-Hygrometer", "device" : 37, "channel" : 5, "battery" : "Low", "temperature_F" : 67.800, "humidity" : 35}',
    preset: 'rtl_433',
    readings: [
      ['pi/Ambient~20Weather~20F007TH~20Thermo-Hygrometer/5/37', 'battery', 'Low'],
      ['pi/Ambient~20Weather~20F007TH~20Thermo-Hygrometer/5/37', 'temperature_F', 67.8],
      ['pi/Ambient~20Weather~20F007TH~20Thermo-Hygrometer/5/37', 'humidity', 35],
    ],
    units: { temperature_F: '°F', humidity: '%RH' },
  },
  {
    source: 'merbanan/rtl_433, issue 2508 (a button of a remote)',
    topic: 'rtl_433/9b13b3f4-rtl433/events',
    payload:
      '{"time":"2023-05-22T11:02:41.008220+0100","model":"Nexa-Security","id":29356178,"channel":3,"state":"ON","unit":3,"group":0}',
    preset: 'rtl_433',
    time: '2023-05-22T10:02:41.008220Z',
    readings: [
      ['9b13b3f4-rtl433/Nexa-Security/3/29356178/3', 'state', 'ON'],
      ['9b13b3f4-rtl433/Nexa-Security/3/29356178/3', 'group', 0],
    ],
  },
];
