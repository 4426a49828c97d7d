import { defineConfig, url } from '@tidegauge/service/program';
import { STORE_SCHEMES } from '@tidegauge/storage';
import { day } from './day.ts';

export const settings = defineConfig({
  store: {
    kind: url(...STORE_SCHEMES),
    required: true,
    secret: 'url',
    help: 'The store of the readings and of the totals.',
  },
  from: { kind: day, help: 'The first day. Default: all days, in one pass.' },
  to: {
    kind: day,
    help: 'The last day, inclusive. Default: the present day with --from, otherwise all days.',
  },
});
