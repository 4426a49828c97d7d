import { startHbase } from '@tidegauge/lab/hbase';
import { proveHbase } from './hbase-cluster.ts';

await proveHbase('hbase', startHbase);
