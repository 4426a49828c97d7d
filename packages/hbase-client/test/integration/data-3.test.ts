import { after, describe } from 'node:test';
import { startHbaseCluster } from '@tidegauge/lab/hbase-cluster';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { describeData } from '../support/data-suite.ts';

const started = await startOrSkip('hbase', () => startHbaseCluster({ regionServers: 3 }));
if ('skip' in started) {
  describe('data calls on 3 region servers', { skip: started.skip });
} else {
  const { server } = started;
  after(() => server.stop());
  describeData('3 region servers', () => server);
}
