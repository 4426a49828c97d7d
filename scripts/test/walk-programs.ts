import { run } from '@tidegauge/service/program';
import { listPrograms } from '../programs.ts';

/** A command line: the name of a program in `listPrograms`, and arguments. */
export interface CommandLine {
  readonly script: string;
  readonly args: readonly string[];
}

/** How a program ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
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
  // A program that is not started does not remove its listeners of signals.
  process.setMaxListeners(0);
  const ended: Ended[] = [];
  for (const { script, args } of lines) {
    const output = { stdout: '', stderr: '' };
    process.argv = [process.argv[0]!, process.argv[1]!, ...args];
    const restore = (['stdout', 'stderr'] as const).map((name) => capture(name, output));
    const code = await run(programs.get(script)!);
    for (const undo of restore) undo();
    ended.push({ code, ...output });
  }
  return ended;
}

/** Collects what is written to a stream. Returns a function that ends it. */
function capture(name: 'stdout' | 'stderr', output: { stdout: string; stderr: string }): () => void {
  const stream = process[name];
  const { write } = stream;
  stream.write = (text: string | Uint8Array) => {
    output[name] += text.toString();
    return true;
  };
  return () => {
    stream.write = write;
  };
}
