import type { FuzzTarget } from './fuzz-target.ts';

/** A target with the URL of its module, so that a thread loads nothing else. */
export interface NamedModule {
  readonly target: FuzzTarget;
  readonly module: string;
}

const MODULES = ['packages/mqtt-session', 'packages/readings', 'services/api'].map(
  (folder) => new URL(`../../${folder}/test/fuzz-targets.ts`, import.meta.url).href,
);

/** All targets, in the order in which they run. */
export const fuzzTargets: readonly NamedModule[] = (
  await Promise.all(
    MODULES.map(async (module) => {
      const { fuzzTargets } = (await import(module)) as { readonly fuzzTargets: readonly FuzzTarget[] };
      return fuzzTargets.map((target) => ({ target, module }));
    }),
  )
).flat();
