import type { Preset } from './preset.ts';

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
    {
      topic: '{device+}/{metric}',
      mapping: { metric: '{metric}.{field}', time: false, drop: DESCRIPTIONS, values: { '*': 'any' } },
    },
  ],
};
