import { type Boards, startBoards } from '@tidegauge/lab/docker/boards';
import { startOrSkip } from '@tidegauge/lab/unavailable';

/** Simulated boards for the tests of a file, which stops them at its end. */
export interface BoardsOrSkip extends Boards {
  /** The reason why the tests are skipped, or false. There are no boards then. */
  readonly skip: string | false;
}

/** Starts boards. Where Docker is not available, the tests are skipped, see `startOrSkip`. */
export async function boardsOrSkip(...options: Parameters<typeof startBoards>): Promise<BoardsOrSkip> {
  const started = await startOrSkip('docker', () => startBoards(...options));
  if ('server' in started) return { ...started.server, skip: false };
  const unavailable = (): never => {
    throw new Error(started.skip);
  };
  return { boards: [], swarm: unavailable, stop: async () => {}, skip: started.skip };
}
