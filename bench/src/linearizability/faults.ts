import { setTimeout as sleep } from 'node:timers/promises';
import { familyOf } from '@tidegauge/lab/processes';
import type { StoreNode } from '@tidegauge/lab/stores';
import type { Random } from '@tidegauge/workload';

/** What a fault kills, without a shutdown. */
export interface Victim {
  kill(): Promise<void>;
  /** Resolves when it works again. */
  restart(): Promise<void>;
}

/** A node that is suspended (SIGSTOP) in place of a kill, so that it misses what the others do. */
export function suspended(node: StoreNode): Victim {
  let pids: readonly number[] = [];
  return {
    async kill() {
      pids = node.pids().flatMap(familyOf);
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
    },
    async restart() {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    },
  };
}

export interface Faults {
  /** Kills until now. */
  readonly count: number;
  /** Ends the faults. Resolves when the last victim works again; rejects if one did not start. */
  stop(): Promise<void>;
}

/** Kills one of the victims after another, at random times, and starts each again after a random pause. */
export function startFaults(victims: readonly Victim[], pauseMs: number, random: Random): Faults {
  const ended = new AbortController();
  let count = 0;
  const wait = (): Promise<void> =>
    sleep(random.double() * pauseMs, undefined, { signal: ended.signal }).catch(() => {});
  const run = async (): Promise<void> => {
    while (victims.length > 0 && !ended.signal.aborted) {
      await wait();
      if (ended.signal.aborted) return;
      const victim = victims[random.below(victims.length)]!;
      await victim.kill();
      count += 1;
      await wait();
      await victim.restart();
    }
  };
  const running = run();
  // The caller of `stop` gets the error.
  running.catch(() => {});
  return {
    get count() {
      return count;
    },
    async stop() {
      ended.abort();
      await running;
    },
  };
}
