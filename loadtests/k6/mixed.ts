import { optionsOf, plan } from './scenario.ts';

export { ingest } from './ingest.ts';
export { queries } from './queries.ts';
export { handleSummary } from './summary.ts';

/** Readings come in while others are asked for. */
export const options = optionsOf(plan);
