import { testDerived } from '../../conformance/index.ts';
import { embedded, prove } from './prove.ts';

testDerived();
prove(embedded('sqlite-derived', (folder) => `sqlite:${folder}/tidegauge.db`));
