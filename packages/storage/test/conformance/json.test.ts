import { embedded, prove } from './prove.ts';

prove(embedded('json', (folder) => `json:${folder}/readings`));
