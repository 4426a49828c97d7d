/**
 * Arguments of a JVM. Tests set TIDEGAUGE_BRIEF to "yes", because their servers end after minutes: then a JVM compiles
 * with less effort. Its start needs half of the processor time, but its code stays slower.
 *
 * @param isBrief whether that is right for a process in any case
 */
export function compilerOptions(isBrief = false): string[] {
  return isBrief || process.env.TIDEGAUGE_BRIEF === 'yes' ? ['-XX:TieredStopAtLevel=1'] : [];
}
