import { keyedNumbers, processCounters, readText } from '@tidegauge/experiments/trial/proc';
import { scrape } from '@tidegauge/test-support/scrape';

/** What the operations of one side used, for each operation. A part without a process has null. */
export interface OperationDemand {
  readonly storeCalls: number;
  /** Processor time of this process, of the API and of the servers of the store, microseconds. */
  readonly cpuMicros: { readonly client: number; readonly api: number | null; readonly store: number | null };
  /** Bytes that this process and the API read and wrote, in files and over connections (proc_pid_io(5), rchar, wchar). */
  readonly bytes: { readonly client: number; readonly api: number | null };
}

export interface Participants {
  /** Calls of the store from this process so far. */
  readonly calls: () => number;
  /** null: the operations go directly to the store. */
  readonly api: { readonly url: string; readonly pid: number } | null;
  /** Processes of the store. Empty: it runs in the process of its client. */
  readonly storePids: readonly number[];
}

interface Reading {
  readonly clientCpu: number;
  readonly apiCpu: number | null;
  readonly storeCpu: number | null;
  readonly clientBytes: number;
  readonly apiBytes: number | null;
}

/** Runs `count` operations, and measures what each used. The processor times of other processes have steps of 10 ms. */
export async function demandOf(
  participants: Participants,
  count: number,
  run: () => Promise<unknown>,
): Promise<OperationDemand> {
  const callsBefore = await callsOf(participants);
  const before = read(participants);
  await run();
  const after = read(participants);
  const calls = (await callsOf(participants)) - callsBefore;
  const each = (name: keyof Reading, factor: number): number | null => {
    const [first, last] = [before[name], after[name]];
    return first === null || last === null ? null : ((last - first) * factor) / count;
  };
  return {
    storeCalls: calls / count,
    cpuMicros: { client: each('clientCpu', 1e6)!, api: each('apiCpu', 1e6), store: each('storeCpu', 1e6) },
    bytes: { client: each('clientBytes', 1)!, api: each('apiBytes', 1) },
  };
}

function read({ api, storePids }: Participants): Reading {
  const { user, system } = process.cpuUsage();
  return {
    clientCpu: (user + system) / 1e6,
    apiCpu: api === null ? null : processCounters([api.pid]).cpuSeconds,
    storeCpu: storePids.length === 0 ? null : processCounters(storePids).cpuSeconds,
    clientBytes: transferredBytes(process.pid) ?? Number.NaN,
    apiBytes: api === null ? null : transferredBytes(api.pid),
  };
}

/** Calls of the store: those that the API reports, or those of this process. */
async function callsOf({ api, calls }: Participants): Promise<number> {
  if (api === null) return calls();
  let sum = 0;
  for (const [series, count] of await scrape(api.url))
    if (series.startsWith('tidegauge_store_seconds_count{')) sum += count;
  return sum;
}

function transferredBytes(pid: number): number | null {
  const text = readText(`/proc/${pid}/io`);
  if (text === null) return null;
  const io = keyedNumbers(text);
  return (io.get('rchar') ?? 0) + (io.get('wchar') ?? 0);
}
