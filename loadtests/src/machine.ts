import { arch, availableParallelism, totalmem } from 'node:os';

/** Where figures come from, for the files that keep them. */
export function machine() {
  return {
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    arch: arch(),
    node: process.versions.node,
  };
}
