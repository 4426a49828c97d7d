/** Less effort of the compiler, and no verification of classes: each start would verify some ten thousand. */
const BRIEF = [
  '-XX:TieredStopAtLevel=1',
  '-XX:+UnlockDiagnosticVMOptions',
  '-XX:-BytecodeVerificationRemote',
];

/**
 * Arguments of a JVM. Tests set TIDEGAUGE_BRIEF to "yes", because their servers end after minutes: then the start of a JVM
 * needs half of the processor time, but its code stays slower.
 *
 * @param isBrief whether that is right for a process in any case
 */
export function compilerOptions(isBrief = false): string[] {
  return isBrief || process.env.TIDEGAUGE_BRIEF === 'yes' ? [...BRIEF] : [];
}
