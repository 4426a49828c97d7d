import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ConfigError } from '@tidegauge/service';
import { NODE_ENVIRONMENT, ROOT } from './setup.js';

/** A child that runs. */
export interface Child {
  /** Resolves once it says that it is ready, to where it listens, if it does. */
  readonly ready: Promise<string | null>;
  /** Ends it and waits for that. */
  stop(): Promise<void>;
}

/**
 * Starts a child in a process group of its own, so that Ctrl-C reaches only this process and children end in
 * order; the channel to it closes when this process dies, which they take as the order to stop.
 *
 * @param onExit told why, when it cannot be started or ends unasked
 */
export function startChild(
  name: string,
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  onExit: (error: Error) => void,
): Child {
  const child = spawn(program, args, {
    cwd: ROOT,
    stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
    detached: true,
    env: { ...process.env, ...NODE_ENVIRONMENT, ...env, STOP_WITH_STDIN: 'true' },
  });
  // The child reports that itself, so another process on its port is not mistaken for it.
  const ready = new Promise<string | null>((resolve) => {
    child.once('message', (said) => resolve((said as { url: string | null }).url));
  });
  let stopping = false;
  const exited = exit(name, child);
  void exited.then((why) => {
    if (!stopping) onExit(new ConfigError([why]));
  });
  return {
    ready,
    async stop() {
      stopping = true;
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Resolves to why it is not running, once it is not. */
async function exit(name: string, child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit');
    const how = code === null ? `signal ${signal}` : `exit code ${code}`;
    return `${name} ended by itself (${how}): its own message is above`;
  } catch (error) {
    return `${name} cannot be started: ${(error as Error).message}: is the program there, and may this user run it?`;
  }
}
