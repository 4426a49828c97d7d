import { waitUntil } from '@tidegauge/process';
import type { StudyClient } from './swarm-client.ts';

const READY_MS = 30_000;
const POLL_MS = 1000;
/**
 * Prints the metrics of all node exporters, as far as they answer within 5 s. An exporter has the counters of the network
 * in a file that is written once a second: they are waited for, because a whole run can be shorter.
 */
const READ = `
import { resolve4 } from 'node:dns/promises';
import { setTimeout } from 'node:timers/promises';
const addresses = await resolve4('tasks.node-exporter').catch(() => []);
const writtenAt = (text) => /^node_textfile_mtime_seconds.* (.+)$/m.exec(text)?.[1];
const texts = addresses.map(async (address) => {
  const signal = AbortSignal.timeout(5000);
  const read = async () => (await fetch('http://' + address + ':9100/metrics', { signal })).text();
  try {
    const first = await read();
    let text = first;
    while (writtenAt(text) === writtenAt(first)) {
      await setTimeout(100, undefined, { signal });
      text = await read();
    }
    return text;
  } catch {
    return '';
  }
});
process.stdout.write(JSON.stringify(await Promise.all(texts)));
`;

/** The node exporters of a study's stack, which only its containers reach. */
export class SwarmExporters {
  readonly #client: StudyClient;
  #reading: Promise<ReadonlyMap<string, string>> | null = null;

  constructor(client: StudyClient) {
    this.#client = client;
  }

  /** Waits until these boards have an exporter that answers, for 30 s. Resolves to those that have one. */
  async ready(boards: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    let found: ReadonlyMap<string, string> = new Map();
    const look = async (): Promise<boolean> => {
      signal.throwIfAborted();
      found = await this.#all();
      return boards.every((board) => found.has(board));
    };
    await waitUntil('the node exporters', look, { timeoutMs: READY_MS, pollMs: POLL_MS }).catch(() => {
      signal.throwIfAborted();
    });
    return new Set(found.keys());
  }

  /** The metrics of a board. Boards that are read at the same time share one request. */
  async read(board: string): Promise<string> {
    this.#reading ??= this.#all().finally(() => {
      this.#reading = null;
    });
    const text = (await this.#reading).get(board);
    if (text === undefined) throw new Error(`the node exporter of ${board} does not answer`);
    return text;
  }

  async #all(): Promise<ReadonlyMap<string, string>> {
    const texts = JSON.parse(await this.#client.run(READ)) as readonly string[];
    return new Map(texts.flatMap((text) => boardOf(text)));
  }
}

/** The text with the name of its board. An exporter has the host name of the board. */
function boardOf(text: string): readonly (readonly [string, string])[] {
  const name = /^node_uname_info\{.*nodename="([^"]*)"/m.exec(text)?.[1];
  return name === undefined ? [] : [[name, text]];
}
