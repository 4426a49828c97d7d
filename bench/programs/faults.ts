import { mistake } from '@tidegauge/loadtests/profiles/settings';
import { drawFigures } from '@tidegauge/loadtests/results/run-analysis';
import { say } from '@tidegauge/loadtests/say';
import { STORES } from '@tidegauge/loadtests/targets/store-places';
import {
  boolean,
  type Config,
  defineConfig,
  duration,
  integer,
  list,
  oneOf,
  outputFile,
  run,
} from '@tidegauge/service/program';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { FAULT_NAMES } from '../src/faults/faults.ts';
import {
  brokerLoses,
  changesSystemCalls,
  disksOf,
  linksOf,
  PROFILES,
  type Profile,
  randomProfile,
  refusal,
  storesOf,
} from '../src/faults/profiles.ts';
import { figuresOf, textOf } from '../src/faults/report.ts';
import { runProfile } from '../src/faults/run-profile.ts';
import { WAYS, type Way } from '../src/faults/scene.ts';

/**
 * `npm run bench -- faults`: sensors publish numbered messages while parts fail, and what they had acknowledged is compared with
 * the store. The parts are as in etcd's robustness tests: traffic, faults, a check, and a picture.
 */
const { quick, json, seed } = BENCH_SETTINGS;
const RANDOM = 'random';
const LIST = 'list';
const SETTINGS = defineConfig({
  profile: {
    kind: oneOf([LIST, RANDOM, ...Object.keys(PROFILES)]),
    positional: true,
    required: true,
    help: 'What fails, and how often. list: prints the profiles.',
  },
  store: {
    kind: oneOf(STORES),
    default: 'sqlite',
    help: 'The store. It is started empty and removed afterwards.',
  },
  way: {
    kind: oneOf(WAYS),
    help: 'Where sensors publish: to mosquitto, or to ingest itself. Default: that of the profile.',
  },
  rate: {
    kind: integer(1, 50_000),
    help: 'Messages per second. Default: that of the profile.',
  },
  messages: {
    kind: integer(1, 100_000_000),
    help: 'Repeat the faults until so many messages were published. Default: once.',
  },
  hold: { kind: duration(0.1, 86_400), help: 'Length of each fault. Default: that of the profile.' },
  replicas: {
    kind: integer(1, 8),
    help: 'Ingest processes. Default: those of the profile.',
  },
  without: { kind: list(oneOf(FAULT_NAMES)), help: 'Faults that random leaves out.' },
  ack: {
    kind: oneOf(['durable', 'stored', 'received']),
    default: 'durable',
    help: 'When ingest acknowledges. received loses messages, which the check must find.',
  },
  heal: {
    kind: boolean(),
    default: 'false',
    help: 'Sensors keep what they sent, and send it again when ingest requests it. Then numbered readings that the broker loses must be stored too.',
  },
  picture: { kind: outputFile(), help: 'Draw the run over time to this file as SVG.' },
  seed,
  quick,
  json,
});
const QUICK_RATE = 300;

export const program = defineBench({
  name: 'faults',
  summary: 'Publishes while parts fail, and looks for what was acknowledged in the store.',
  details:
    'Ends with 1 if something acknowledged is missing or stored twice. Faults of disks and of power need root; those of a link\n' +
    'build Toxiproxy with Go once.',
  settings: SETTINGS,
  check: (config) => (config.profile === LIST ? null : planOf(config)),
  async run({ store, seed, messages, hold, ack, heal, picture, quick }, plan, context) {
    if (plan === null) {
      process.stdout.write(listOf());
      return {};
    }
    const { name, profile, way, rate } = plan;
    const scene = {
      store,
      way,
      replicas: profile.replicas,
      disks: disksOf(profile),
      links: linksOf(profile, store),
      brokerLoses: brokerLoses(profile),
      systemCalls: changesSystemCalls(profile),
      environment: { ACK: ack, ...(ack === 'received' ? { SPOOL_MAX_BYTES: '0' } : {}) },
    };
    const options = { profile, scene, rate, messages, hold, seed, heals: heal, isQuick: quick, say };
    const run = await runProfile(options, context);
    const figures = figuresOf(run);
    const title = `${name} on ${store}, ${way === 'direct' ? 'direct' : 'through mosquitto'}, ${rate} messages/s, seed ${seed}`;
    process.stdout.write(textOf(title, figures));
    if (picture !== null) await drawFigures('faults', { quick, title, ...figures }, picture);
    const { failures, ...rest } = figures;
    const failure =
      failures.length === 0 ? {} : { failure: failures.map((each) => `FAILED: ${each}`).join('\n') };
    return { profile: name, store, way, rate, seed, ack, failures, ...rest, ...failure };
  },
});

interface Plan {
  readonly name: string;
  readonly profile: Profile;
  readonly way: Way;
  readonly rate: number;
}

/** @throws {ConfigError} when the profile is not possible with the store or the way */
function planOf(config: Config<typeof SETTINGS>): Plan {
  const { profile: name, rate, quick } = config;
  const profile = profileOf(config);
  const way = config.way ?? profile.way;
  const reason = refusalOf(config, profile, way);
  if (reason !== null) throw mistake(reason);
  return { name, profile, way, rate: rate ?? (quick ? Math.min(QUICK_RATE, profile.rate) : profile.rate) };
}

/** The profile that is named, or a random one, with the replicas that are given. */
function profileOf({ profile: name, store, way, replicas, without }: Config<typeof SETTINGS>): Profile {
  const planned =
    name === RANDOM ? randomProfile(store, way ?? 'broker', replicas ?? 1, without ?? []) : PROFILES[name]!;
  return { ...planned, replicas: replicas ?? planned.replicas };
}

/** Why the profile is not possible with these settings, or null. */
function refusalOf(
  { profile: name, store, without, heal }: Config<typeof SETTINGS>,
  { faults, replicas }: Profile,
  way: Way,
): string | null {
  if (without !== null && name !== RANDOM) return `--without is for ${RANDOM}`;
  if (way === 'direct' && replicas > 1) return `${name} has ${replicas} replicas, which need --way broker`;
  if (heal && (way === 'direct' || replicas > 1))
    return '--heal needs --way broker and one replica: others lose nothing, or request nothing';
  for (const fault of faults) {
    const reason = refusal(fault, store, way, replicas);
    if (reason !== null) return reason;
  }
  return null;
}

function listOf(): string {
  const rows = Object.entries(PROFILES).map(([name, profile]) => {
    const stores = storesOf(profile);
    const where = stores.length === STORES.length ? 'every store' : stores.join(', ');
    return `${name.padEnd(18)} ${profile.summary}\n${' '.repeat(19)}${where}\n`;
  });
  const random = `${RANDOM.padEnd(18)} a random sequence of all faults that fit the store\n${' '.repeat(19)}every store\n`;
  return [...rows, random].join('');
}

if (import.meta.main) process.exitCode = await run(program);
