import type { MappingOptions } from '../mapping/options.ts';
import type { Preset } from './preset.ts';

const PACKET: MappingOptions = {
  parse: { payload: 'meshtastic' },
  device: '{from}',
  time: { field: 'timestamp', unit: 's' },
  // A text that is JSON, such as a number, is the payload itself.
  keep: ['payload', 'payload.*', 'rssi', 'snr', 'hops_away'],
  drop: [
    ...['payload.id', 'payload.longname', 'payload.shortname', 'payload.hardware', 'payload.role'],
    ...['payload.time', 'payload.timestamp', 'payload.precision_bits', 'payload.PDOP', 'payload.route*'],
    ...['payload.snr_*', 'payload.neighbors*', 'payload.node_id', 'payload.last_sent_by_id'],
    ...['payload.waypoint.id', 'payload.waypoint.expire', 'payload.waypoint.locked_to'],
  ],
  rename: {
    payload: 'text',
    'payload.*latitude_i': '*latitude',
    'payload.*longitude_i': '*longitude',
    'payload.*': '*',
  },
  scale: { '*latitude': 1e-7, '*longitude': 1e-7 },
  values: { text: 'text', 'waypoint.name': 'text', 'waypoint.description': 'text' },
  units: {
    '*latitude': 'lat',
    '*longitude': 'lon',
    altitude: 'm',
    battery_level: '%EL',
    '*voltage*': 'V',
    uptime_seconds: 's',
    '*temperature': 'Cel',
    relative_humidity: '%RH',
    barometric_pressure: 'hPa',
    rssi: 'dBm',
    snr: 'dB',
    '*lux': 'lx',
    wind_speed: 'm/s',
    wind_gust: 'm/s',
    wind_direction: 'deg',
  },
};

/** https://meshtastic.org/docs/software/integrations/mqtt/#json-topic. The device is the number of the node. */
export const meshtastic: Preset = {
  name: 'meshtastic',
  title: 'Meshtastic (JSON)',
  base: 'msh',
  routes: [
    // What a node shall send.
    { topic: '2/json/mqtt', mapping: 'ignore' },
    { topic: '{device+}/2/json/mqtt', mapping: 'ignore' },
    { topic: '2/json/+/+', mapping: PACKET },
    // The levels before are the region: EU_868, US/CA.
    { topic: '{device+}/2/json/+/+', mapping: PACKET },
    { topic: '#', mapping: 'ignore' },
  ],
};
