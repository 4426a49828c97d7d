import { didYouMean } from '@tidegauge/text';

/** The mistake that `parseArgs` of Node found in a command line, in one sentence, with the nearest option. */
export function usageProblem(error: unknown, options: object): string {
  const [problem] = (error as Error).message.split('. ') as [string];
  const unknown = /^Unknown option '(-[^']*)'/.exec(problem)?.[1];
  if (unknown === undefined) return problem;
  const known = Object.keys(options).map((name) => `--${name}`);
  return `unknown option ${unknown}${didYouMean(unknown, known)}`;
}

/** Reports bad usage of an npm script such as `npm test`, and ends the process. */
export function refuse(script: string, problem: string): never {
  process.stderr.write(`${problem}${problem.endsWith('?') ? '' : '.'} See: ${script} -- --help\n`);
  process.exit(2);
}
