import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const SETPRIV = '/usr/bin/setpriv';

/**
 * The command line that also ends a program when this process is killed with SIGKILL (prctl(2), PR_SET_PDEATHSIG).
 * It needs setpriv of util-linux; elsewhere the program is started directly. The process id is that of the program,
 * since setpriv executes it. A program that does not exist is also started directly, so that the error names it.
 */
export function commandLine(
  program: string,
  args: readonly string[],
  { path = process.env.PATH, cwd = '.' }: { readonly path?: string | undefined; readonly cwd?: string } = {},
): readonly [string, ...string[]] {
  const isLinux = process.platform === 'linux' && existsSync(SETPRIV);
  if (!isLinux || !isExecutable(program, path ?? '', cwd)) return [program, ...args];
  return [SETPRIV, '--pdeathsig', 'KILL', '--', program, ...args];
}

function isExecutable(program: string, path: string, cwd: string): boolean {
  const files = program.includes('/')
    ? [resolve(cwd, program)]
    : path.split(delimiter).map((directory) => join(directory, program));
  return files.some((file) => {
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  });
}
