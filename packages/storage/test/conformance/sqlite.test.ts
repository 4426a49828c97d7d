import { embedded, prove } from './prove.ts';

prove(embedded('sqlite', (folder) => `sqlite:${folder}/tidegauge.db`));
