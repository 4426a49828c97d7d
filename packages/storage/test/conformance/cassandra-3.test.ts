import { proveCassandra } from './cassandra-cluster.ts';

proveCassandra('cassandra-3', 3, '?rf=3&write=QUORUM&read=QUORUM');
