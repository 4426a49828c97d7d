import type { SenderMessage } from './sender-message.ts';

/** Meshtastic, JSON over MQTT. */
export const meshtastic: readonly SenderMessage[] = [
  {
    source: 'kpetremann/mqtt-exporter, tests/functional/test_parse_message.py',
    topic: 'msh/EU_868/2/json/LongFast/!ba0dd62c',
    payload: `{
        "channel": 0,
        "from": 3121468972,
        "hop_start": 3,
        "hops_away": 0,
        "id": 46252175,
        "payload": { "air_util_tx": 0.559027791023254,
            "battery_level": 101,
            "channel_utilization": 4.56999969482422,
            "uptime_seconds": 389180,
            "voltage": 4.31599998474121 },
        "sender": "!ba0dd62c",
        "timestamp": 1763545627,
        "to": 4294967295,
        "type": "telemetry"
    }`,
    preset: 'meshtastic',
    time: '2025-11-19T09:47:07.000000Z',
    readings: [
      ['3121468972', 'hops_away', 0],
      ['3121468972', 'air_util_tx', 0.559027791023254],
      ['3121468972', 'battery_level', 101],
      ['3121468972', 'channel_utilization', 4.56999969482422],
      ['3121468972', 'uptime_seconds', 389180],
      ['3121468972', 'voltage', 4.31599998474121],
    ],
    units: { battery_level: '%EL', voltage: 'V', uptime_seconds: 's' },
    auto: 'values',
  },
  {
    source: 'fablabbcn/smartcitizen-meshtastic, issue 1 (a longer prefix of the topic)',
    topic: 'device/sck/mesh12/2/json/LongFast/!da741924',
    payload:
      '{"channel":0,"from":3665041700,"hop_start":3,"hops_away":0,"id":4075056514,"payload":{"barometric_pressure":0,"current":0,"gas_resistance":0,"iaq":0,"lux":0,"relative_humidity":61.310001373291,"temperature":25.9400005340576,"voltage":0,"white_lux":0,"wind_direction":0,"wind_gust":0,"wind_lull":0,"wind_speed":0},"sender":"!da741924","timestamp":1749214958,"to":4294967295,"type":"telemetry"}',
    preset: 'meshtastic',
    template: 'device/sck/+/2/json/+/+',
    time: '2025-06-06T13:02:38.000000Z',
    readings: [
      ['3665041700', 'hops_away', 0],
      ['3665041700', 'barometric_pressure', 0],
      ['3665041700', 'current', 0],
      ['3665041700', 'gas_resistance', 0],
      ['3665041700', 'iaq', 0],
      ['3665041700', 'lux', 0],
      ['3665041700', 'relative_humidity', 61.310001373291],
      ['3665041700', 'temperature', 25.9400005340576],
      ['3665041700', 'environment_voltage', 0],
      ['3665041700', 'white_lux', 0],
      ['3665041700', 'wind_direction', 0],
      ['3665041700', 'wind_gust', 0],
      ['3665041700', 'wind_lull', 0],
      ['3665041700', 'wind_speed', 0],
    ],
    units: { temperature: 'Cel', relative_humidity: '%RH', barometric_pressure: 'hPa' },
    auto: 'no',
  },
  {
    source: 'meshtastic/meshtastic, docs/software/integrations/mqtt/index.mdx',
    topic: 'msh/US/2/json/LongFast/!7efeee00',
    payload: `{
  "id": 452664778,
  "channel": 0,
  "from": 2130636288,
  "payload": {
    "hardware": 10,
    "id": "!7efeee00",
    "longname": "base0",
    "shortname": "BA0"
  },
  "sender": "!7efeee00",
  "timestamp": 1646832724,
  "to": -1,
  "type": "nodeinfo"
}`,
    preset: 'meshtastic',
    readings: [],
  },
  {
    source:
      'a position as meshtastic/firmware, src/serialization/MeshPacketSerializer.cpp, writes it; the numbers are those of meshtastic/meshtastic, docs/software/integrations/mqtt/adafruit-io.mdx',
    topic: 'msh/US/2/json/LongFast/!7efeee00',
    payload:
      '{"channel":0,"from":2130636288,"id":1,"payload":{"altitude":113,"latitude_i":208759687,"longitude_i":-1565037665},"sender":"!7efeee00","timestamp":1646832724,"to":-1,"type":"position"}',
    preset: 'meshtastic',
    time: '2022-03-09T13:32:04.000000Z',
    readings: [
      ['2130636288', 'altitude', 113],
      ['2130636288', 'latitude', 20.8759687],
      ['2130636288', 'longitude', -156.5037665],
    ],
    units: { latitude: 'lat', longitude: 'lon', altitude: 'm' },
    auto: 'no',
  },
  {
    source: 'meshtastic/firmware, issue 1850 (a node without a clock; the channel is our own)',
    topic: 'msh/2/json/LongFast/!7efeb2c8',
    payload:
      '{"channel": 0, "from": 2130621128, "id": 1576523471, "payload": {"air_util_tx": 0, "battery_level": 0, "channel_utilization": 0, "voltage": 0}, "sender": "!7efeb2c8", "timestamp": 0, "to": -1, "type": "telemetry"}',
    preset: 'meshtastic',
    readings: [
      ['2130621128', 'air_util_tx', 0],
      ['2130621128', 'battery_level', 0],
      ['2130621128', 'channel_utilization', 0],
      ['2130621128', 'voltage', 0],
    ],
    ignored: ['timestamp'],
  },
];
