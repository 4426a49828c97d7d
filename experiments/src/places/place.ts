import { machine } from '@tidegauge/loadtests/results/machine';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import type { Combination, Deployment, Place, PlaceName, Study } from '../model.ts';

/** What distinguishes one place from another. */
export interface PlaceParts {
  readonly name: PlaceName;
  /** As `Place.refuses`. It may throw instead, with the reason as the message. */
  refusalOf(hard: Combination, study: Study): string | null;
  /** Facts besides those of this machine. */
  facts?(): Readonly<Record<string, string | number>>;
  /** Starts a deployment. What has to be stopped is added to `closers`, which close also when this rejects. */
  start(hard: Combination, study: Study, closers: Closers, signal: AbortSignal): Promise<Deployment>;
}

/** Makes a place that cleans up after a deployment that failed, and stops those that still run at the end. */
export function definePlace({ name, refusalOf, facts, start }: PlaceParts): Place {
  const running = new Set<Deployment>();
  return {
    name,
    refuses(hard, study) {
      try {
        return refusalOf(hard, study);
      } catch (error) {
        return (error as Error).message;
      }
    },
    async describe() {
      const { cpu, cores, memoryBytes, arch, system, node } = machine();
      return { place: name, cpu, cores, memoryBytes, arch, system, node, ...facts?.() };
    },
    async deploy(hard, study, signal) {
      const closers = new Closers();
      try {
        const deployment = await start(hard, study, closers, signal);
        running.add(deployment);
        closers.add(async () => running.delete(deployment));
        return deployment;
      } catch (error) {
        await closers.close();
        throw error;
      }
    },
    async stop() {
      await Promise.all([...running].map((deployment) => deployment.stop()));
    },
  };
}

/** @throws {Error} with the reason, if there is one */
export function throwRefusal(refusal: string | null): void {
  if (refusal !== null) throw new Error(refusal);
}

/** Why a place whose loaded data cannot be copied does not take the study. null: the study restores none. */
export function restoreRefusal(study: Study, place: string): string | null {
  const restored = Object.keys(study.state).filter((workload) => study.state[workload] === 'restore');
  if (restored.length === 0) return null;
  const states = restored.map((workload) => `${workload}: reload`).join(', ');
  return `${place} cannot restore loaded data: write state: { ${states} }`;
}
