import { after, describe } from 'node:test';
import { startHbase } from '@tidegauge/lab/hbase';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { describeAdmin } from '../support/admin-suite.ts';

for (const version of ['2.6.1', '2.4.16'] as const) {
  const started = await startOrSkip('hbase', () => startHbase({ version }));
  if ('skip' in started) {
    describe(`administration of HBase ${version}`, { skip: started.skip });
  } else {
    const { server } = started;
    after(() => server.stop());
    describeAdmin(`HBase ${version}`, () => server.port);
  }
}
