import type { SenderMessage } from './sender-message.ts';

/** Home Assistant's integration mqtt_statestream. */
export const homeAssistant: readonly SenderMessage[] = [
  {
    source: 'home-assistant/home-assistant.io, source/_integrations/mqtt_statestream.markdown',
    topic: 'homeassistant/light/master_bedroom_dimmer/state',
    payload: 'on',
    preset: 'home-assistant',
    readings: [['light/master_bedroom_dimmer', 'state', 1]],
    auto: 'same',
  },
  {
    source:
      'home-assistant/home-assistant.io, source/_integrations/mqtt_statestream.markdown (a text is quoted)',
    topic: 'homeassistant/light/master_bedroom_dimmer/state',
    payload: '"on"',
    preset: 'home-assistant',
    readings: [['light/master_bedroom_dimmer', 'state', 1]],
    auto: 'values',
  },
  {
    source: 'home-assistant/home-assistant.io, source/_integrations/mqtt_statestream.markdown',
    topic: 'homeassistant/light/master_bedroom_dimmer/last_updated',
    payload: '2017-10-01T23:20:30.920969+00:00',
    preset: 'home-assistant',
    readings: [],
  },
  {
    source: 'home-assistant/core, tests/components/mqtt_statestream/test_init.py (base topic pub)',
    topic: 'pub/fake/entity/list',
    payload: '["a", "b", "c"]',
    preset: 'home-assistant',
    template: 'pub/{device+}/{metric}',
    readings: [
      ['fake/entity', 'list.0', 'a'],
      ['fake/entity', 'list.1', 'b'],
      ['fake/entity', 'list.2', 'c'],
    ],
    auto: 'same',
  },
  {
    source: 'home-assistant/core, tests/components/mqtt_statestream/test_init.py (base topic pub)',
    topic: 'pub/fake/entity/bool',
    payload: 'false',
    preset: 'home-assistant',
    template: 'pub/{device+}/{metric}',
    readings: [['fake/entity', 'bool', 0]],
    auto: 'same',
  },
  {
    source: 'home-assistant/core, homeassistant/const.py (STATE_UNAVAILABLE)',
    topic: 'homeassistant/sensor/outside_temperature/state',
    payload: 'unavailable',
    preset: 'home-assistant',
    readings: [],
  },
];
