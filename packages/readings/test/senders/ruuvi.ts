import type { SenderMessage } from './sender-message.ts';

/** Ruuvi Gateway. The device is the sensor, whichever gateway receives it. `data` is the Bluetooth advertisement. */
export const ruuvi: readonly SenderMessage[] = [
  {
    source:
      'ruuvi/docs, ruuvi-gateway-firmware/data-formats/mqtt-time-stamped-data-from-bluetooth-sensors.md (topic of examples/mqtt-examples.md)',
    topic: 'ruuvi/C8:25:2D:8E:9C:2C/F4:1F:0C:28:CB:D6',
    payload: `{
      "gw_mac": "C8:25:2D:8E:9C:2C",
      "rssi": -26,
      "aoa": [],
      "gwts": "1653668027",
      "ts": "1653668027",
      "data": "0201061BFF99040515AE4C6DC6D7000CFFF803F4ADB6AD697FF41F0C28CBD6",
      "coords": ""
    }`,
    preset: 'ruuvi',
    time: '2022-05-27T16:13:47.000000Z',
    readings: [
      ['F4:1F:0C:28:CB:D6', 'rssi', -26],
      ['F4:1F:0C:28:CB:D6', 'temperature', 27.75],
      ['F4:1F:0C:28:CB:D6', 'humidity', 48.9125],
      ['F4:1F:0C:28:CB:D6', 'pressure', 100903],
      ['F4:1F:0C:28:CB:D6', 'accelX', 0.012],
      ['F4:1F:0C:28:CB:D6', 'accelY', -0.008],
      ['F4:1F:0C:28:CB:D6', 'accelZ', 1.012],
      ['F4:1F:0C:28:CB:D6', 'voltage', 2.989],
      ['F4:1F:0C:28:CB:D6', 'txPower', 4],
      ['F4:1F:0C:28:CB:D6', 'movementCounter', 173],
      ['F4:1F:0C:28:CB:D6', 'measurementSequenceNumber', 27007],
    ],
    units: { rssi: 'dBm', temperature: 'Cel', humidity: '%RH', pressure: 'Pa', voltage: 'V', txPower: 'dBm' },
    auto: 'no',
  },
  {
    source:
      'ruuvi/docs, ruuvi-gateway-firmware/data-formats/mqtt-data-from-bluetooth-sensors-without-timestamps.md',
    topic: 'ruuvi/C8:25:2D:8E:9C:2C/F4:1F:0C:28:CB:D6',
    payload: `{
      "gw_mac": "C8:25:2D:8E:9C:2C",
      "rssi": -25,
      "aoa": [],
      "cnt": "338",
      "data": "0201061BFF990405166455D5C6DE0008FFF403F0AE760F2A8BF41F0C28CBD6",
      "coords": ""
    }`,
    preset: 'ruuvi',
    readings: [
      ['F4:1F:0C:28:CB:D6', 'rssi', -25],
      ['F4:1F:0C:28:CB:D6', 'temperature', 28.66],
      ['F4:1F:0C:28:CB:D6', 'humidity', 54.9325],
      ['F4:1F:0C:28:CB:D6', 'pressure', 100910],
      ['F4:1F:0C:28:CB:D6', 'accelX', 0.008],
      ['F4:1F:0C:28:CB:D6', 'accelY', -0.012],
      ['F4:1F:0C:28:CB:D6', 'accelZ', 1.008],
      ['F4:1F:0C:28:CB:D6', 'voltage', 2.995],
      ['F4:1F:0C:28:CB:D6', 'txPower', 4],
      ['F4:1F:0C:28:CB:D6', 'movementCounter', 15],
      ['F4:1F:0C:28:CB:D6', 'measurementSequenceNumber', 10891],
    ],
    auto: 'no',
  },
  {
    source:
      'ruuvi/ruuvi.gateway_esp.c, tests/test_mqtt_json/test_mqtt_json.cpp (raw and decoded, data format 5)',
    topic: 'ruuvi/AA:CC:EE:00:11:22/E3:75:CF:37:4E:23',
    payload:
      '{"gw_mac":"AA:CC:EE:00:11:22","rssi":-70,"aoa":[],"gwts":1612358920,"ts":1612358929,"data":"0201061BFF99040517037758C5C703FCFF30FFF89416B7958AE375CF374E23","dataFormat":5,"temperature":29.455,"humidity":76.3800,"pressure":100631,"accelX":1.020,"accelY":-0.208,"accelZ":-0.008,"movementCounter":183,"voltage":2.784,"txPower":4,"measurementSequenceNumber":38282,"id":"E3:75:CF:37:4E:23","coords":"170.112233,59.445566"}',
    preset: 'ruuvi',
    time: '2021-02-03T13:28:49.000000Z',
    readings: [
      ['E3:75:CF:37:4E:23', 'rssi', -70],
      ['E3:75:CF:37:4E:23', 'temperature', 29.455],
      ['E3:75:CF:37:4E:23', 'humidity', 76.38],
      ['E3:75:CF:37:4E:23', 'pressure', 100631],
      ['E3:75:CF:37:4E:23', 'accelX', 1.02],
      ['E3:75:CF:37:4E:23', 'accelY', -0.208],
      ['E3:75:CF:37:4E:23', 'accelZ', -0.008],
      ['E3:75:CF:37:4E:23', 'movementCounter', 183],
      ['E3:75:CF:37:4E:23', 'voltage', 2.784],
      ['E3:75:CF:37:4E:23', 'txPower', 4],
      ['E3:75:CF:37:4E:23', 'measurementSequenceNumber', 38282],
    ],
    auto: 'values',
  },
  {
    source:
      'ruuvi/ruuvi.gateway_esp.c, tests/test_mqtt_json/test_mqtt_json.cpp (raw and decoded, data format 6)',
    topic: 'ruuvi/AA:CC:EE:00:11:22/E3:75:CF:4E:B2:72',
    payload:
      '{"gw_mac":"AA:CC:EE:00:11:22","rssi":-70,"aoa":[],"gwts":1612358920,"ts":1612358929,"data":"020106030398FC17FF990406146457F8C79D001D03263A01146B05D04EB272","dataFormat":6,"temperature":26.1,"humidity":56.3,"pressure":101101,"PM2.5":2.9,"CO2":806,"VOC":117,"NOx":3,"luminosity":1,"sound_avg_dba":61.0,"measurementSequenceNumber":5,"flag_calibration_in_progress":false,"flag_button_pressed":false,"flag_rtc_running_on_boot":false,"id":"4E:B2:72","coords":"170.112233,59.445566"}',
    preset: 'ruuvi',
    time: '2021-02-03T13:28:49.000000Z',
    readings: [
      ['E3:75:CF:4E:B2:72', 'rssi', -70],
      ['E3:75:CF:4E:B2:72', 'temperature', 26.1],
      ['E3:75:CF:4E:B2:72', 'humidity', 56.3],
      ['E3:75:CF:4E:B2:72', 'pressure', 101101],
      ['E3:75:CF:4E:B2:72', 'PM2.5', 2.9],
      ['E3:75:CF:4E:B2:72', 'CO2', 806],
      ['E3:75:CF:4E:B2:72', 'VOC', 117],
      ['E3:75:CF:4E:B2:72', 'NOx', 3],
      ['E3:75:CF:4E:B2:72', 'luminosity', 1],
      ['E3:75:CF:4E:B2:72', 'sound_avg_dba', 61],
      ['E3:75:CF:4E:B2:72', 'measurementSequenceNumber', 5],
      ['E3:75:CF:4E:B2:72', 'flag_calibration_in_progress', 0],
      ['E3:75:CF:4E:B2:72', 'flag_button_pressed', 0],
      ['E3:75:CF:4E:B2:72', 'flag_rtc_running_on_boot', 0],
    ],
    auto: 'values',
  },
  {
    source:
      'ruuvi/docs, communication/bluetooth-advertisements/data-format-5-rawv2.md (test vector), in a message of the Ruuvi Gateway',
    topic: 'ruuvi/C8:25:2D:8E:9C:2C/CB:B8:33:4C:88:4F',
    payload:
      '{"gw_mac":"C8:25:2D:8E:9C:2C","rssi":-25,"aoa":[],"cnt":"338","data":"0201061BFF99040512FC5394C37C0004FFFC040CAC364200CDCBB8334C884F","coords":""}',
    preset: 'ruuvi',
    readings: [
      ['CB:B8:33:4C:88:4F', 'rssi', -25],
      ['CB:B8:33:4C:88:4F', 'temperature', 24.3],
      ['CB:B8:33:4C:88:4F', 'humidity', 53.49],
      ['CB:B8:33:4C:88:4F', 'pressure', 100044],
      ['CB:B8:33:4C:88:4F', 'accelX', 0.004],
      ['CB:B8:33:4C:88:4F', 'accelY', -0.004],
      ['CB:B8:33:4C:88:4F', 'accelZ', 1.036],
      ['CB:B8:33:4C:88:4F', 'voltage', 2.977],
      ['CB:B8:33:4C:88:4F', 'txPower', 4],
      ['CB:B8:33:4C:88:4F', 'movementCounter', 66],
      ['CB:B8:33:4C:88:4F', 'measurementSequenceNumber', 205],
    ],
    auto: 'no',
  },
];
