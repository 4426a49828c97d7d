import { optionsOf, plan } from './scenario.ts';

export { ingest } from './ingest.ts';
export { queries } from './queries.ts';
export { handleSummary } from './summary.ts';

/** Publishes readings, and at the same time queries loaded readings. */
export const options = optionsOf(plan);
