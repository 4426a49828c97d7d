/**
 * A workload that cannot be run. The message is one line with the file, the property, the problem and how to fix it.
 */
export class WorkloadError extends Error {
  override readonly name = 'WorkloadError';
}
