import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { median } from '@tidegauge/loadtests/results/statistics';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { startProcess } from '@tidegauge/process';
import { ConfigError, defineConfig, integer, list, run, text } from '@tidegauge/service/program';
import { didYouMean } from '@tidegauge/text';
import { API_ATTACKS } from '../src/attacks/api-attacks.ts';
import { INGEST_ATTACKS } from '../src/attacks/ingest-attacks.ts';
import { Sensors } from '../src/attacks/sensors.ts';
import { API_BYTES, INGEST_BYTES, type Site, startSite } from '../src/attacks/site.ts';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';

/**
 * `npm run bench -- attacks`: how long sensors and readers wait that do nothing wrong, while a client attacks ingest or
 * the API. Both have the memory of a board with 1 GB, and the kernel ends them beyond it.
 */
const NAMES = [...Object.keys(INGEST_ATTACKS), ...Object.keys(API_ATTACKS)];
/** None, and all of them at the same time. */
const NONE = 'none';
const ALL = 'all';
const CHOICES = [NONE, ...NAMES, ALL];
const MOST_WAIT_MS = 2000;
/** Until the attackers have ended and what they left is closed. */
const QUIET_MS = 3000;
const PROGRAM = fileURLToPath(new URL('../src/attacks/attack-program.ts', import.meta.url));
const QUICK_SECONDS = 10;
const MIB = 2 ** 20;

const { quick, json } = BENCH_SETTINGS;
const settings = defineConfig({
  quick,
  json,
  attacks: {
    kind: list(text('an attack')),
    help: `Only these: ${CHOICES.join(', ')}. Default: each of them.`,
  },
  seconds: { kind: integer(5, 86_400), default: '600', help: 'Length of each attack.' },
});

interface Wait {
  readonly count: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

interface Outcome {
  readonly attack: string;
  readonly seconds: number;
  readonly publish: Wait;
  readonly login: Wait;
  readonly read: Wait;
  readonly ingestMiB: number;
  readonly apiMiB: number;
  /** Why sensors or readers were not served as promised. */
  readonly problems: readonly string[];
}

export const program = defineBench({
  name: 'attacks',
  summary: 'Measures how long sensors and readers wait while a client attacks ingest or the API.',
  settings,
  check({ attacks, seconds, quick }) {
    const unknown = attacks?.find((name) => !CHOICES.includes(name));
    if (unknown !== undefined)
      throw new ConfigError([
        `--attacks: there is no ${unknown}${didYouMean(unknown, CHOICES)}: choose from ${CHOICES.join(', ')}`,
      ]);
    return { attacks: attacks ?? CHOICES, seconds: quick ? QUICK_SECONDS : seconds };
  },
  async run(_config, { attacks, seconds }, { signal }) {
    const outcomes: Outcome[] = [];
    for (const attack of attacks) {
      signal.throwIfAborted();
      const outcome = await measure(attack, seconds, signal);
      outcomes.push(outcome);
      process.stdout.write(`${row(outcome)}\n`);
      for (const problem of outcome.problems) process.stdout.write(`  ${problem}\n`);
    }
    const failed = outcomes.filter(({ problems }) => problems.length > 0).map(({ attack }) => attack);
    const limits = { mostWaitMs: MOST_WAIT_MS, ingestBytes: INGEST_BYTES, apiBytes: API_BYTES };
    return {
      ...limits,
      outcomes,
      ...(failed.length === 0 ? {} : { failure: `failed: ${failed.join(', ')}` }),
    };
  },
});

async function measure(attack: string, seconds: number, interrupt: AbortSignal): Promise<Outcome> {
  const closers = new Closers();
  try {
    const site = await startSite(closers);
    const { target, readKey } = site;
    const signal = AbortSignal.any([AbortSignal.timeout(seconds * 1000), interrupt]);
    const { mqtt, api, password } = target;
    const sensors = new Sensors({ mqtt, api, password, readKey, signal });
    await sensors.begin();
    const quarantined = await newestQuarantined(site);
    const attackers = attack === NONE ? [] : attack === ALL ? NAMES : [attack];
    const ended = attackers.map((name) => startAttack(name, seconds, site));
    await sensors.run();
    await Promise.all(ended.map((attacker) => attacker.stop()));
    await sleep(QUIET_MS);
    const problems = await checkAlive(site);
    const peaks = { ingestMiB: site.ingest.peakMemory() / MIB, apiMiB: site.api.peakMemory() / MIB };
    if (problems.length === 0) {
      const expected = await sensors.end();
      problems.push(...(await checkQuarantine(site, quarantined)));
      await site.ingest.stop();
      problems.push(...(await site.verify(expected)));
    }
    const { publish, login, read, refused } = sensors.waits;
    for (const [what, waits] of Object.entries({ publish, login, read })) {
      const { worstMs } = waitOf(waits);
      if (worstMs > MOST_WAIT_MS) problems.push(`${what}: the longest wait is ${worstMs.toFixed(0)} ms`);
    }
    const reasons = [...new Set(refused)].slice(0, 3).join('; ');
    if (refused.length > 0) problems.push(`${refused.length} steps were refused: ${reasons}`);
    const waits = { publish: waitOf(publish), login: waitOf(login), read: waitOf(read) };
    return { attack, seconds, ...waits, ...peaks, problems };
  } finally {
    await closers.close();
  }
}

function startAttack(name: string, seconds: number, { target }: Site) {
  const attacker = startProcess({
    ...{ command: process.execPath, args: [PROGRAM], ipc: true },
    ...{ stdout: 'inherit', stderr: 'inherit', stopMs: 5000 },
    // The kernel shares processors between groups first: see the priority in the program.
    ownGroup: true,
  });
  attacker.child.send({ name, seconds, target });
  return attacker;
}

/** The processes that ended during the attack. */
async function checkAlive({ ingest, api }: Site): Promise<string[]> {
  const problems: string[] = [];
  for (const [name, service] of Object.entries({ ingest, api })) {
    const code = await Promise.race([service.exited, sleep(0, undefined)]);
    if (code !== undefined) problems.push(`${name} was killed (exit code ${code})`);
  }
  return problems;
}

/** The id of the newest message in the quarantine. */
async function newestQuarantined({ ingest, adminKey }: Site): Promise<string> {
  const { items } = (await (await ask(`${ingest.url}/quarantine?limit=1`, adminKey)).json()) as {
    readonly items: readonly { readonly id: string }[];
  };
  return items[0]!.id;
}

/** The message that the sensor could not send correctly must still be in the quarantine. */
async function checkQuarantine({ ingest, adminKey }: Site, id: string): Promise<string[]> {
  const { status } = await ask(`${ingest.url}/quarantine/${id.split('.').at(-1)}`, adminKey);
  return status === 200 ? [] : [`the quarantined message of a sensor is lost (status ${status})`];
}

function ask(url: string, key: string): Promise<Response> {
  return fetch(url, { headers: { Authorization: `Bearer ${key}` } });
}

function waitOf(waits: readonly number[]): Wait {
  const sorted = waits.length === 0 ? [0] : waits;
  return { count: waits.length, medianMs: median(sorted), worstMs: sorted.reduce((a, b) => Math.max(a, b)) };
}

function row({ attack, publish, login, read, ingestMiB, apiMiB, problems }: Outcome): string {
  const wait = (name: string, { count, medianMs, worstMs }: Wait) =>
    `${name} ${count} median ${medianMs.toFixed(1)} worst ${worstMs.toFixed(0)} ms`;
  const waits = [wait('publish', publish), wait('login', login), wait('read', read)].join('  ');
  const memory = `ingest ${ingestMiB.toFixed(0)} MiB  api ${apiMiB.toFixed(0)} MiB`;
  return `${attack.padEnd(16)} ${waits}  ${memory}  ${problems.length === 0 ? 'ok' : 'FAILED'}`;
}

if (import.meta.main) process.exitCode = await run(program);
