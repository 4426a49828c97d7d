/**
 * Checks whether this process may install or build missing programs. Tests set TIDEGAUGE_INSTALL to "no", unless they
 * run with `--install` or CI=true. Without the variable everything may be installed.
 *
 * @throws {Error} when it may not; the message contains the command that installs the program
 */
export function assertMayInstall(what: string): void {
  if (process.env.TIDEGAUGE_INSTALL !== 'no') return;
  throw new Error(`${what} is not installed; to install it, run: npm test -- servers --install`);
}

/** The policy of a test file that runs without the test runner. */
export function installOnlyInCi(): void {
  process.env.TIDEGAUGE_INSTALL ??= process.env.CI === 'true' ? 'yes' : 'no';
}
