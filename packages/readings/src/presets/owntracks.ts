import type { MappingOptions } from '../mapping/options.ts';
import type { Preset } from './preset.ts';

const UNITS = {
  lat: 'lat',
  lon: 'lon',
  alt: 'm',
  acc: 'm',
  vac: 'm',
  batt: '%EL',
  vel: 'km/h',
  cog: 'deg',
} as const;

function of(phone: Omit<MappingOptions, 'device' | 'time'>): MappingOptions {
  return { device: '{user}/{phone}', time: { field: 'tst', unit: 's' }, ...phone };
}

/** https://owntracks.org/booklet/tech/json/ */
export const owntracks: Preset = {
  name: 'owntracks',
  title: 'OwnTracks',
  base: 'owntracks',
  routes: [
    {
      topic: '{user}/{phone}',
      mapping: of({
        keep: [
          ...['lat', 'lon', 'alt', 'acc', 'vac', 'batt', 'bs', 'vel', 'cog', 'p', 'm', 'poi', 'tag'],
          ...[
            'odometer',
            'hmc',
            'ubatt',
            'uext',
            'rpm',
            'fcon',
            'flvl',
            'temp_c-*',
            'din*',
            'dout*',
            'ign',
            'motion',
          ],
        ],
        values: { poi: 'text', tag: 'text' },
        units: UNITS,
      }),
    },
    {
      topic: '{user}/{phone}/event',
      mapping: of({
        keep: ['desc', 'event', 'lat', 'lon', 'acc'],
        values: { desc: 'text', event: 'text' },
        units: UNITS,
      }),
    },
    { topic: '{user}/{phone}/step', mapping: of({ keep: ['steps'] }) },
    { topic: '+/+/#', mapping: 'ignore' },
  ],
};
