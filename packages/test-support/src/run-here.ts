import { type Program, run } from '@tidegauge/service/program';

/** How a program ended. */
export interface Ended {
  /** Its exit code. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Runs a program with these arguments in this process, one at a time: the start of a process takes longer than most
 * programs. Exit code and output are those of a process.
 */
export async function runHere(program: Program, ...args: readonly string[]): Promise<Ended> {
  const output = { stdout: '', stderr: '' };
  const undo = [capture('stdout', output), capture('stderr', output), ...SIGNALS.map(keepListeners)];
  try {
    const code = await run(program, args);
    return { code, ...output };
  } finally {
    for (const each of undo) each();
  }
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

/** A program listens to signals until its process ends. Returns a function that removes its listeners. */
function keepListeners(signal: NodeJS.Signals): () => void {
  const before = new Set(process.listeners(signal));
  return () => {
    for (const listener of process.listeners(signal))
      if (!before.has(listener)) process.removeListener(signal, listener);
  };
}
