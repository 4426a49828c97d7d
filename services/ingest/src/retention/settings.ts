import { bytes, defineConfig, duration, text } from '@tidegauge/service';
import { keepKind } from './rules.ts';

/** What is kept, and for how long. */
export const RETENTION_SETTINGS = defineConfig({
  retention: {
    kind: keepKind,
    help: 'How long readings and rollups are kept: raw:30d,1m:1y,1h:forever. Ages are whole numbers with s, m, h, d, w or y, or forever. Default: forever.',
  },
  retentionRules: {
    kind: text('a file name'),
    help: 'YAML or JSON file of rules by device and metric, before RETENTION. A change is used without a restart.',
  },
  retentionMaxBytes: {
    kind: bytes(0, 2 ** 50),
    default: '0',
    help: 'Largest size of the data of sqlite: and json:. The oldest readings are deleted beyond it. 0: no limit.',
  },
  retentionMinFree: {
    kind: bytes(0, 2 ** 50),
    default: '0',
    help: 'Least free space of the disk with sqlite: and json:. The oldest readings are deleted below it. 0: no limit.',
  },
  retentionEvery: {
    kind: duration(1, 7 * 86_400),
    default: '1h',
    help: 'Time between two runs of retention.',
  },
});
