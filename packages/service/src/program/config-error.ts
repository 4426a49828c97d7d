/** Everything that is wrong with a command line or a configuration, one line for each mistake. */
export class ConfigError extends Error {
  override readonly name: string = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}
