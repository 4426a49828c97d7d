/**
 * Checks whether this process may install or build what is missing. Tests set TIDEGAUGE_INSTALL to "no", unless they
 * run with `--install` or CI=true; without the variable everything may be installed.
 *
 * @throws {Error} when it may not, with the command that installs it
 */
export function assertMayInstall(what: string): void {
  if (process.env.TIDEGAUGE_INSTALL !== 'no') return;
  throw new Error(`${what} is not installed; to install it, run: npm run test:servers -- --install`);
}

/** The policy of a test file that runs without the test runner. */
export function installOnlyInCi(): void {
  process.env.TIDEGAUGE_INSTALL ??= process.env.CI === 'true' ? 'yes' : 'no';
}
