import type { SenderMessage } from './sender-message.ts';

/** Z-Wave JS UI, with the topic type of named topics. */
export const zwaveJsUi: readonly SenderMessage[] = [
  {
    source: 'kpetremann/mqtt-exporter, tests/functional/test_parse_message.py',
    topic: 'zwave/BackRoom/Multisensor/sensor_multilevel/endpoint_0/Air_temperature',
    payload: '{"time":1656470510619,"value":83.2}',
    preset: 'zwave-js-ui',
    time: '2022-06-29T02:41:50.619000Z',
    readings: [['BackRoom/Multisensor', 'sensor_multilevel.endpoint_0.Air_temperature', 83.2]],
    auto: 'same',
  },
  {
    source: 'kpetremann/mqtt-exporter, tests/functional/test_parse_message.py',
    topic: 'zwave/BackRoom/Multisensor/sensor_multilevel/endpoint_0/Air_temperature',
    payload: '83.2',
    preset: 'zwave-js-ui',
    readings: [['BackRoom/Multisensor', 'sensor_multilevel.endpoint_0.Air_temperature', 83.2]],
    auto: 'same',
  },
  {
    source: 'zwave-js/zwave-js-ui, issue 1477',
    topic: 'zwave/Kleiderzimmer/Thermostat_Kleiderzimmer/thermostat_setpoint/endpoint_0/setpoint/1',
    payload: '21',
    preset: 'zwave-js-ui',
    readings: [['Kleiderzimmer/Thermostat_Kleiderzimmer', 'thermostat_setpoint.endpoint_0.setpoint.1', 21]],
    auto: 'same',
  },
  {
    source: 'zwave-js/zwave-js-ui, issue 1477 (a node without a location)',
    topic: 'zwave/Thermostat_Kleiderzimmer/thermostat_setpoint/endpoint_0/setpoint/1',
    payload: '21',
    preset: 'zwave-js-ui',
    template: 'zwave/{device}/{metric+}',
    readings: [['Thermostat_Kleiderzimmer', 'thermostat_setpoint.endpoint_0.setpoint.1', 21]],
    auto: 'same',
  },
];
