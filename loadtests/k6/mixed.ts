import { optionsOf, plan } from './scenario.ts';

export { ingest } from './ingest.ts';
export { queries } from './queries.ts';
export { handleSummary } from './summary.ts';

/** Publishes readings while others are queried. */
export const options = optionsOf(plan);
