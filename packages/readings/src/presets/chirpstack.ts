import type { Preset } from './preset.ts';

/** https://www.chirpstack.io/docs/chirpstack/integrations/mqtt.html, version 4, and version 3 with the same topics. */
export const chirpstack: Preset = {
  name: 'chirpstack',
  title: 'ChirpStack',
  base: 'application',
  routes: [
    // Of version 3 these have the counter of downlinks, with the name of that of uplinks.
    { topic: '+/device/{device}/event/ack', mapping: 'ignore' },
    { topic: '+/device/{device}/event/txack', mapping: 'ignore' },
    {
      topic: '+/device/{device}/event/+',
      mapping: {
        parse: { objectJSON: 'json' },
        time: { field: ['time', 'publishedAt'] },
        keep: [
          ...['object.*', 'objectJSON.*', 'fCnt', 'dr', 'margin', 'batteryLevel', 'location.*'],
          ...['rxInfo.0.rssi', 'rxInfo.0.snr', 'rxInfo.0.loRaSNR'],
        ],
        drop: ['location.source', 'location.accuracy'],
        rename: {
          'object.*': '*',
          'objectJSON.*': '*',
          'rxInfo.0.rssi': 'rssi',
          'rxInfo.0.snr': 'snr',
          'rxInfo.0.loRaSNR': 'snr',
        },
        units: {
          rssi: 'dBm',
          snr: 'dB',
          margin: 'dB',
          batteryLevel: '%EL',
          'location.latitude': 'lat',
          'location.longitude': 'lon',
          'location.altitude': 'm',
        },
      },
    },
    { topic: '+/device/{device}/command/#', mapping: 'ignore' },
  ],
};
