import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { compileWithYcsb } from '@tidegauge/lab/ycsb';

const BINDING = fileURLToPath(new URL('../../ycsb/', import.meta.url));
const MAX_LOG = 65_536;
const PHASES = { load: '-load', run: '-t' } as const;

export type YcsbPhase = keyof typeof PHASES;

export interface YcsbOptions {
  readonly phase: YcsbPhase;
  /** Arguments of YCSB's client: -P FILE, -p NAME=VALUE, -threads N, -target N, -s. */
  readonly args: readonly string[];
  /** The API's token, where it has one. */
  readonly token?: string;
  /** Gets what it prints; what it says on standard error then goes there. Default: all is kept to itself. */
  readonly output?: (text: string) => void;
}

/** What YCSB's text summary says. */
export interface YcsbResult {
  /** The process's exit code; YCSB ends with 0 whatever the operations came to. */
  readonly exitCode: number;
  /** What it said on standard error, the end of it, unless that went there. */
  readonly log: string;
  /** Operations per second. */
  readonly throughput: number;
  /** By operation: READ, UPDATE, ..., VERIFY, CLEANUP, and READ-FAILED and the like. */
  readonly operations: Readonly<Record<string, YcsbOperation>>;
}

export interface YcsbOperation {
  readonly count: number;
  /** How many ended how: OK, NOT_FOUND, ERROR, ... */
  readonly returns: Readonly<Record<string, number>>;
  /** All else that is said of it, by YCSB's names, such as `AverageLatency(us)`. */
  readonly figures: Readonly<Record<string, number>>;
}

/**
 * Runs YCSB's own client (site.ycsb.Client 0.17.0, fetched once) through Tidegauge's HTTP API. Where the API listens
 * is `-p tidegauge.url=...`.
 */
export async function runYcsb(options: YcsbOptions): Promise<YcsbResult> {
  const { java, classPath } = await compileWithYcsb(BINDING);
  const { API_TOKEN: _, ...inherited } = process.env;
  const environment = options.token === undefined ? inherited : { ...inherited, API_TOKEN: options.token };
  const jvm = ['-XX:+UseSerialGC', '-Xmx256m', '-cp', classPath, 'site.ycsb.Client'];
  const child = spawn(
    java,
    [...jvm, '-db', 'tidegauge.TidegaugeClient', PHASES[options.phase], ...options.args],
    { stdio: ['ignore', 'pipe', options.output === undefined ? 'pipe' : 'inherit'], env: environment },
  );
  let text = '';
  child.stdout!.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    options.output?.(part);
  });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    log = (log + part).slice(-MAX_LOG);
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode: exitCode ?? 1, log, ...parseSummary(text) };
}

/** YCSB's text summary: lines of `[READ], Operations, 500`. */
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
