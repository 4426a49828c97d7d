import type { ChildProcess } from 'node:child_process';

/** What Node's cluster module sends to a worker with a connection (lib/internal/cluster/round_robin_handle.js). */
interface Pass {
  readonly act?: string;
  readonly seq: number;
}

/** The worker's answer to it. */
interface Answer {
  readonly ack?: number;
}

/** A connection of the parent, without a socket. Closing it again does nothing. */
interface Handle {
  close(): void;
}

/**
 * Keeps the connections that were passed to a worker until it answers that it took them. Node keeps them open when the
 * worker ends before, so their clients would wait for ever.
 *
 * @returns closes those that the worker did not take. Call it when the worker has ended.
 */
export function watchPassedConnections(worker: ChildProcess): () => void {
  const passed = new Map<number, Handle>();
  const send = worker.send.bind(worker) as (...args: readonly unknown[]) => boolean;
  worker.send = (...args: readonly unknown[]) => {
    const [{ act, seq }, handle] = args as [Pass, Handle];
    if (act === 'newconn') passed.set(seq, handle);
    return send(...args);
  };
  worker.on('internalMessage', ({ ack }: Answer) => {
    if (ack !== undefined) passed.delete(ack);
  });
  return () => {
    for (const handle of passed.values()) handle.close();
    passed.clear();
  };
}
