import { bytes, duration, inGroup, text } from '@tidegauge/service';
import { keepKind } from './rules.ts';

/** What is kept, and for how long. */
export const RETENTION_SETTINGS = inGroup('Retention', {
  retention: {
    kind: keepKind,
    help: 'How long readings and rollups are kept, such as raw:30d,1m:1y,1h:forever. Default: forever.',
  },
  retentionRules: {
    kind: text('a file name'),
    help: 'File of rules by device and metric, before RETENTION. Default of ingest: DATA_DIR/retention.yml.',
  },
  retentionMaxBytes: {
    kind: bytes(0, 2 ** 50),
    default: '0',
    help: 'Largest size of the data of sqlite: and json:. Beyond it the oldest readings are deleted. 0: no limit.',
  },
  retentionMinFree: {
    kind: bytes(0, 2 ** 50),
    default: '0',
    help: 'Least free space of the disk with sqlite: and json:. 0: no limit.',
  },
  retentionEvery: {
    kind: duration(1, 7 * 86_400),
    default: '1h',
    help: 'Time between two runs of retention.',
  },
});
