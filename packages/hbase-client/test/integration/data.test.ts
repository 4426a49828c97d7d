import { after, describe } from 'node:test';
import { startHbase } from '@tidegauge/lab/hbase';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { describeData } from '../support/data-suite.ts';
import { describeRows } from '../support/rows-suite.ts';

const started = await startOrSkip('hbase', startHbase);
if ('skip' in started) {
  describe('data calls', { skip: started.skip });
} else {
  const { server } = started;
  after(() => server.stop());
  describeData('a standalone HBase', () => server);
  describeRows('a standalone HBase', () => server);
}
