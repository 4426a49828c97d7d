import { fileURLToPath } from 'node:url';
import { compilerOptions } from '@tidegauge/lab/jvm';
import { compileWithYcsb } from '@tidegauge/lab/ycsb';
import { startProcess } from '@tidegauge/process';

const BINDING = fileURLToPath(new URL('../../ycsb/', import.meta.url));
const MAX_LOG = 65_536;
const PHASES = { load: '-load', run: '-t' } as const;

export type YcsbPhase = keyof typeof PHASES;

export interface YcsbOptions {
  readonly phase: YcsbPhase;
  /** Arguments of YCSB's client: -P FILE, -p NAME=VALUE, -threads N, -target N, -s. */
  readonly args: readonly string[];
  /** The bearer token of the API. Default: none. */
  readonly token?: string;
  /**
   * Receives standard output. Standard error then goes to the standard error of this process. Default: no output is
   * shown.
   */
  readonly output?: (text: string) => void;
}

/** YCSB's text summary. */
export interface YcsbResult {
  /** The exit code of the process. YCSB ends with 0 even if operations failed. */
  readonly exitCode: number;
  /** The last 64 KiB of standard error. Empty if `output` is set. */
  readonly log: string;
  /** Operations per second. */
  readonly throughput: number;
  /** By operation: READ, UPDATE, ..., VERIFY, CLEANUP, and failures such as READ-FAILED. */
  readonly operations: Readonly<Record<string, YcsbOperation>>;
}

export interface YcsbOperation {
  readonly count: number;
  /** Number of operations by outcome: OK, NOT_FOUND, ERROR, ... */
  readonly returns: Readonly<Record<string, number>>;
  /** All other figures, by YCSB's names, such as `AverageLatency(us)`. */
  readonly figures: Readonly<Record<string, number>>;
}

/**
 * Runs YCSB's own client (site.ycsb.Client 0.17.0, downloaded once) against Tidegauge's HTTP API. The argument
 * `-p tidegauge.url=...` sets the address of the API.
 */
export async function runYcsb(options: YcsbOptions): Promise<YcsbResult> {
  const { java, classPath } = await compileWithYcsb(BINDING);
  const jvm = [...compilerOptions(), '-XX:+UseSerialGC', '-Xmx256m', '-cp', classPath, 'site.ycsb.Client'];
  let text = '';
  let log = '';
  const client = startProcess({
    command: java,
    args: [...jvm, '-db', 'tidegauge.TidegaugeClient', PHASES[options.phase], ...options.args],
    stderr: options.output === undefined ? 'pipe' : 'inherit',
    // YCSB must not inherit a token from the environment of this process.
    env: { API_TOKEN: options.token },
    onOutput(part, stream) {
      if (stream === 'stderr') {
        log = (log + part).slice(-MAX_LOG);
        return;
      }
      text += part;
      options.output?.(part);
    },
  });
  const { code, error } = await client.exited;
  if (error !== null) throw error;
  return { exitCode: code ?? 1, log, ...parseSummary(text) };
}

/** Parses YCSB's text summary: lines such as `[READ], Operations, 500`. */
export function parseSummary(text: string): Pick<YcsbResult, 'throughput' | 'operations'> {
  const figures = new Map<string, Map<string, number>>();
  for (const [, operation, name, value] of text.matchAll(/^\[([^\]]+)\], ([^,]+), (-?[\d.E]+|NaN)\s*$/gm)) {
    const known = figures.get(operation!) ?? new Map<string, number>();
    figures.set(operation!, known.set(name!, Number(value)));
  }
  const overall = figures.get('OVERALL');
  const operations: Record<string, YcsbOperation> = {};
  for (const [operation, all] of figures) {
    if (operation === 'OVERALL' || operation.startsWith('TOTAL_')) continue;
    const entries = [...all];
    const returns = entries.filter(([name]) => name.startsWith('Return='));
    operations[operation] = {
      count: all.get('Operations') ?? 0,
      returns: Object.fromEntries(returns.map(([name, value]) => [name.slice('Return='.length), value])),
      figures: Object.fromEntries(entries.filter(([name]) => !name.startsWith('Return='))),
    };
  }
  return { throughput: overall?.get('Throughput(ops/sec)') ?? 0, operations };
}
