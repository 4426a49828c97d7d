import type { Energy, EnergyModel, NodeUsage } from '../model.ts';

export interface EnergyInput {
  readonly model: EnergyModel | null;
  readonly nodes: readonly NodeUsage[];
  /** Processors of a node. */
  readonly cores: (node: string) => number;
  readonly seconds: number;
  readonly done: number;
  /** Joules of meters of all store nodes, without the model. */
  readonly joules: number | null;
}

/** Relative uncertainty of a meter in a processor: Khan et al., RAPL in Action, 2018, find up to 3 %. */
const METER_UNCERTAINTY = 0.03;

/**
 * Energy of the store's nodes during a run. A meter has precedence. The model is linear in the processor share of each
 * node: idle + (busy - idle) x share, for the time of the run. Every store node counts as one machine. A node of the
 * API shares a machine with others, so it adds only its busy part. The client is left out. null: no model, or the
 * processor time of a node is not known.
 */
export function energyOf({ model, nodes, cores, seconds, done, joules }: EnergyInput): Energy | null {
  if (model === null) return null;
  if (joules !== null) return energy(joules, METER_UNCERTAINTY, done, 'meter of the nodes (node exporter)');
  const parts = nodes.filter(({ role }) => role === 'store' || role === 'api');
  if (parts.every(({ role }) => role !== 'store')) return null;
  let sum = 0;
  for (const { node, role, cpuSeconds } of parts) {
    if (cpuSeconds === null) return null;
    const share = Math.min(1, cpuSeconds / (seconds * cores(node)));
    const busy = (model.busyWatts - model.idleWatts) * share;
    sum += (busy + (role === 'store' ? model.idleWatts : 0)) * seconds;
  }
  return energy(sum, model.uncertainty, done, `model ${model.model}: ${model.source}`);
}

function energy(joules: number, uncertainty: number, done: number, source: string): Energy {
  return {
    joules,
    low: joules * (1 - uncertainty),
    high: joules * (1 + uncertainty),
    perOperation: done === 0 ? 0 : joules / done,
    source,
  };
}
