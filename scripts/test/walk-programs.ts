import { type Ended, runHere } from '@tidegauge/test-support/run-here';
import { listPrograms } from '../programs.ts';

/** A command line: the name of a program in `listPrograms`, and arguments. */
export interface CommandLine {
  readonly script: string;
  readonly args: readonly string[];
}

// Runs the command lines that it receives, one after another in this process. Users start a process for each.
// Sends how each ended.

process.once('message', (lines) => {
  void walk(lines as readonly CommandLine[]).then((ended) =>
    process.send!(ended, () => process.disconnect()),
  );
});

async function walk(lines: readonly CommandLine[]): Promise<Ended[]> {
  const programs = new Map((await listPrograms()).map(({ script, program }) => [script, program]));
  const ended: Ended[] = [];
  for (const { script, args } of lines) ended.push(await runHere(programs.get(script)!, ...args));
  return ended;
}
