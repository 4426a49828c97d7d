import type { SenderMessage } from './sender-message.ts';

/** ESPHome over MQTT. */
export const esphome: readonly SenderMessage[] = [
  {
    source: 'esphome/issues, issue 3406 (a log of ESPHome)',
    topic: 'underhouse/sensor/wifi_strength/state',
    payload: '-83',
    preset: 'esphome',
    readings: [['underhouse', 'wifi_strength', -83]],
    auto: 'same',
  },
  {
    source: 'kpetremann/mqtt-exporter, tests/functional/test_parse_message.py',
    topic: 'esphome/outdoor/sensor/temperature/state',
    payload: '20.0',
    preset: 'esphome',
    template: 'esphome/{device}/sensor/{metric}/state',
    readings: [['outdoor', 'temperature', 20]],
    auto: 'same',
  },
  {
    source: 'kpetremann/mqtt-exporter, tests/functional/test_parse_message.py',
    topic: 'esphome/outdoor/binary_sensor/sunlight/state',
    payload: 'ON',
    preset: 'esphome',
    template: 'esphome/{device}/{type}/{name}/state',
    readings: [['outdoor', 'binary_sensor.sunlight', 1]],
  },
  {
    source: 'esphome/esphome, issue 10411 (topic) and esphome.io, components/mqtt (the availability message)',
    topic: 'weather-sensor/status',
    payload: 'online',
    preset: 'esphome',
    readings: [['weather-sensor', 'status', 1]],
    auto: 'same',
  },
];
