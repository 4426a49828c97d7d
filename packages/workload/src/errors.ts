/** A workload that cannot be run. The message is one line: the file, the property, what is wrong, how to mend it. */
export class WorkloadError extends Error {
  override readonly name = 'WorkloadError';
}
