import { after, describe } from 'node:test';
import { startHbase } from '@tidegauge/lab/hbase';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { describeAdmin } from '../support/admin-suite.ts';

// ../proof/standalone.test.ts has the newer version.
const started = await startOrSkip('hbase', () => startHbase({ version: '2.4.16' }));
if ('skip' in started) {
  describe('administration of HBase 2.4.16', { skip: started.skip });
} else {
  const { server } = started;
  after(() => server.stop());
  describeAdmin('HBase 2.4.16', () => server.port);
}
