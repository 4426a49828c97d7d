import type { Preset, PresetRoute } from './preset.ts';

/** Attributes that describe an entity, and lists of what it can do. */
const DESCRIPTIONS = [
  ...['last_changed', 'last_updated', 'last_reported', 'friendly_name', 'icon', 'unit_of_measurement'],
  ...[
    'device_class',
    'state_class',
    'attribution',
    'supported_features',
    'editable',
    'restored',
    'entity_id',
  ],
  ...[
    'assumed_state',
    'entity_picture',
    'options*',
    'effect_list*',
    'source_list*',
    'supported_color_modes*',
  ],
  ...['hvac_modes*', 'fan_modes*', 'preset_modes*', 'swing_modes*', 'id', 'user_id', 'source_type'],
];

/** Domains whose states are words of which only some are on, off, open or home. */
const WORDS = [
  ...['alarm_control_panel', 'climate', 'cover', 'device_tracker', 'input_select', 'lawn_mower', 'lock'],
  ...['media_player', 'person', 'select', 'sun', 'timer', 'vacuum', 'valve', 'water_heater', 'weather'],
];

/** https://www.home-assistant.io/integrations/mqtt_statestream/ */
export const homeAssistant: Preset = {
  name: 'home-assistant',
  title: 'Home Assistant (mqtt_statestream)',
  base: 'homeassistant',
  routes: [
    // Discovery of devices has the same base topic.
    { topic: 'status', mapping: 'ignore' },
    { topic: '+/+/config', mapping: 'ignore' },
    { topic: '+/+/+/config', mapping: 'ignore' },
    ...WORDS.map(
      (domain): PresetRoute => ({
        topic: `${domain}/{entity}/state`,
        mapping: { device: `${domain}/{entity}`, metric: 'state', time: false, values: { state: 'text' } },
      }),
    ),
    {
      topic: '{device+}/{metric}',
      mapping: { metric: '{metric}.{field}', time: false, drop: DESCRIPTIONS, values: { '*': 'any' } },
    },
  ],
};
