import { type Exit, exitText, startProcess } from '@tidegauge/process';
import { ConfigError, EXIT } from '@tidegauge/service';
import { NODE_ENVIRONMENT } from '../../../scripts/setup.js';

/** Services end by themselves after their STOP_TIMEOUT. This deadline is for a process that hangs. */
const STOP_MS = 120_000;

/** A part of the pipeline that runs as a child process. */
export interface Child {
  /** Resolves when the child reports that it is ready, to the URL where it listens, if it does. */
  readonly ready: Promise<string | null>;
  /** Ends the child and waits for its end. */
  stop(): Promise<void>;
}

/**
 * Starts a child in its own process group, so that Ctrl-C reaches only this process and the children end in order.
 * The child's standard input closes when this process dies, and the child then stops.
 *
 * @param onExit receives the reason when the child cannot be started, or ends before `stop` is called
 */
export function startChild(
  name: string,
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  onExit: (error: Error) => void,
): Child {
  const started = startProcess({
    command: program,
    args,
    env: { ...NODE_ENVIRONMENT, ...env, STOP_WITH_STDIN: 'true' },
    stdin: 'pipe',
    stdout: 'inherit',
    stderr: 'inherit',
    ipc: true,
    detached: true,
    stopMs: STOP_MS,
  });
  // The child reports this itself, so that another process on its port is not mistaken for it.
  const ready = new Promise<string | null>((resolve) => {
    started.child.once('message', (message) => resolve((message as { url: string | null }).url));
  });
  let stopping = false;
  void started.exited.then((exit) => {
    if (!stopping) onExit(reasonOf(name, exit));
  });
  return {
    ready,
    async stop() {
      stopping = true;
      await started.stop();
    },
  };
}

function reasonOf(name: string, exit: Exit): Error {
  if (exit.error !== null) {
    const reason = `${name} ${exitText(exit)}. Check that the program exists and that this user may run it`;
    return new ConfigError([reason]);
  }
  const reason = `${name} ended unexpectedly (${exitText(exit)}). Its own message is above`;
  return exit.code === EXIT.BAD_USAGE ? new ConfigError([reason]) : new Error(reason);
}
