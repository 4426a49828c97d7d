import { startHbase } from '@tidegauge/lab/hbase';
import { proveHbase } from './hbase-cluster.ts';

// The suite has about a hundred regions, each with a buffer of 2 MB when it has data.
await proveHbase('hbase', () => startHbase({ heapMegabytes: 512 }));
