import { freePort, launchServer, type ServerProcess } from '@tidegauge/process';
import { answersConnect } from './mqtt-answers.ts';
import { serverDirectory } from './server-directory.ts';

/** A Java broker on a slow board needs some of this time. */
const READY_MS = 120_000;

export interface AnyBroker {
  readonly url: string;
  /** The process of the last start. */
  readonly pid: number;
  /** Stops it in an orderly way, and removes a temporary directory. May be called twice. */
  stop(): Promise<void>;
  /** Kills it without a shutdown. */
  kill(): Promise<void>;
  /** Ends it if it runs, and starts it again on the same port, with its data. */
  restart(): Promise<void>;
}

/**
 * Starts a broker of any kind by its command, and resolves when it answers CONNECT.
 *
 * @param command a command of the shell, in which `{port}` is the port on 127.0.0.1 at which it must listen, and
 *   `{directory}` the directory for its data. It must not start the broker in the background: the process is killed
 * @param kept the directory, which `stop` keeps. Default: an empty temporary one, which `stop` removes
 * @throws {Error} with what it wrote, when it ends or does not answer within two minutes
 */
export async function startAnyBroker(command: string, kept?: string): Promise<AnyBroker> {
  const port = await freePort();
  const directory = await serverDirectory('broker', kept);
  const filled = command.replaceAll('{port}', String(port)).replaceAll('{directory}', directory.path);
  const launch = (): Promise<ServerProcess> =>
    launchServer({
      name: `the broker on 127.0.0.1:${port}`,
      command: 'sh',
      // The broker replaces the shell, so that a kill ends the broker.
      args: ['-c', `exec ${filled}`],
      ready: () => answersConnect(port),
      readyMs: READY_MS,
    });
  let broker: ServerProcess;
  try {
    broker = await launch();
  } catch (error) {
    directory.remove();
    throw error;
  }
  return {
    url: `mqtt://127.0.0.1:${port}`,
    get pid() {
      return broker.pid;
    },
    async stop() {
      await broker.stop();
      directory.remove();
    },
    kill: () => broker.kill(),
    async restart() {
      await broker.stop();
      broker = await launch();
    },
  };
}
