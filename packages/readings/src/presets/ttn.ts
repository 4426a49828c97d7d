import type { Preset } from './preset.ts';

/** https://www.thethingsindustries.com/docs/integrations/mqtt/, version 3. Device IDs differ within an application only. */
export const ttn: Preset = {
  name: 'ttn',
  title: 'The Things Stack (TTN v3)',
  base: 'v3',
  routes: [
    {
      topic: '{application}/devices/{device}/up',
      mapping: {
        device: '{application|end_device_ids.application_ids.application_id}/{device}',
        time: { field: ['uplink_message.received_at', 'received_at'] },
        keep: [
          ...['uplink_message.decoded_payload.*', 'uplink_message.f_cnt'],
          ...['uplink_message.rx_metadata.0.rssi', 'uplink_message.rx_metadata.0.snr'],
        ],
        // SenseCAP sends a list of measurements.
        drop: ['*.messages.*.measurementId', 'uplink_message.decoded_payload.payload'],
        rename: {
          'uplink_message.decoded_payload.messages.*': '*',
          'uplink_message.decoded_payload.*': '*',
          'uplink_message.rx_metadata.0.*': '*',
          'uplink_message.f_cnt': 'f_cnt',
        },
        units: { rssi: 'dBm', snr: 'dB' },
      },
    },
    { topic: '+/devices/{device}/#', mapping: 'ignore' },
  ],
};
