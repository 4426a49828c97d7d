import type { NodeFault } from '@tidegauge/lab/stores';
import type { Faults } from '../model.ts';

/** The faults of a deployment from those of its nodes, by name. No nodes: it has no faults. */
export function faultsOf(nodes: ReadonlyMap<string, NodeFault>): { readonly faults?: Faults } {
  if (nodes.size === 0) return {};
  const named = (name: string): NodeFault => {
    const node = nodes.get(name);
    if (node !== undefined) return node;
    throw new Error(`there is no node ${name} to kill: there are ${[...nodes.keys()].join(', ')}`);
  };
  return {
    faults: {
      nodes: () => [...nodes.keys()],
      kill: async (name) => named(name).kill(),
      restart: async (name) => named(name).restart(),
    },
  };
}
