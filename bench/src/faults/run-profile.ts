import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@tidegauge/process';
import { now } from '@tidegauge/readings';
import { type SeededRandom, seeded } from '@tidegauge/workload';
import type { BenchContext } from '../define-bench.ts';
import type { AcknowledgementTimes } from './acknowledgement-times.ts';
import { faultOf } from './faults.ts';
import {
  type BrokerLoss,
  judgeBroker,
  judgeQuarantine,
  judgeReadings,
  type Owed,
  owedTo,
  type Quarantined,
  type Verdict,
} from './judge.ts';
import { Keeper } from './keeper.ts';
import type { Named } from './ledger-watch.ts';
import type { Profile, Step } from './profiles.ts';
import { makeScene, type Scene, type ScenePlan } from './scene.ts';
import { makeStream } from './streams.ts';
import { type Sample, Timeline } from './timeline.ts';
import { Traffic } from './traffic.ts';

const STREAMS = { sensors: 0, plan: 1, faults: 2 } as const;
const FIRST_STORED_MS = 60_000;
/** Longest time to recover, in addition to three times the length of the fault. */
const RECOVER_MS = 180_000;
const ACKNOWLEDGED_MS = 180_000;
/** After the faults, what sensors kept must be stored within this time. */
const HEALED_MS = 60_000;
/** Nothing may arrive for this time at the end. */
const QUIET_MS = 2000;

export interface RunOptions {
  readonly profile: Profile;
  readonly scene: ScenePlan;
  /** Messages per second. */
  readonly rate: number;
  /** Further passes are done until so many messages were sent. null: one pass. */
  readonly messages: number | null;
  /** Seconds of each fault; null: those of the profile. */
  readonly hold: number | null;
  readonly seed: number;
  /** Sensors keep what they sent, and answer requests for missing readings. Needs a broker and one replica. */
  readonly heals: boolean;
  readonly isQuick: boolean;
  readonly say: (line: string) => void;
}

/** A fault that happened. Times are seconds since the start. */
export interface Happened {
  readonly fault: string;
  readonly begin: number;
  readonly end: number;
}

/** What sensors sent again. */
export interface Healed {
  readonly requests: number;
  readonly messages: number;
  /** From the end of the traffic until nothing that sensors kept was missing. null: not within the limit. */
  readonly seconds: number | null;
}

export interface Run {
  readonly seconds: number;
  readonly published: number;
  readonly acknowledged: number;
  readonly faults: readonly Happened[];
  readonly samples: readonly Sample[];
  readonly readings: Verdict;
  readonly quarantine: Quarantined;
  readonly broker: BrokerLoss;
  /** null: sensors kept nothing. */
  readonly healed: Healed | null;
  /** What the ledger of ingest lists; null: there are several. */
  readonly named: Named | null;
  /** With sensors that are connected to ingest: times from when messages were due to their acknowledgement. */
  readonly times: AcknowledgementTimes | null;
  /** Readings that ingest received again after they were stored, as far as the store counts them. */
  readonly redelivered: number;
  /** Connections that sensors made. */
  readonly connects: number;
  readonly peakBytes: number;
  /** Ingest processes that ended without a fault that ends them. */
  readonly unexpectedEnds: number;
  /** Problems apart from what the store has. */
  readonly problems: readonly string[];
}

/** Publishes through a profile's faults, and compares what was acknowledged with what is stored. */
export async function runProfile(options: RunOptions, { closers, signal }: BenchContext): Promise<Run> {
  const { profile, rate, seed } = options;
  const scene = await makeScene(options.scene, closers);
  await Promise.all(scene.replicas.map((replica) => replica.start()));
  const epoch = now();
  const traffic = new Traffic({
    host: '127.0.0.1',
    port: scene.port,
    streams: profile.streams.map((plan) => makeStream(plan, rate)),
    stallMs: 10_000,
    random: seeded(seed, STREAMS.sensors),
  });
  closers.add(async () => traffic.stop());
  const keeper = options.heals ? await Keeper.start(scene.port, traffic.flows) : null;
  if (keeper !== null) closers.add(() => keeper.stop());
  const timeline = new Timeline(scene, traffic, epoch);
  closers.add(() => timeline.stop());
  await waitUntil('the first stored reading', () => (timeline.samples.at(-1)?.storedUntil ?? -1) > 0, {
    timeoutMs: FIRST_STORED_MS,
  });
  scene.saveBroker();
  const run = new Pass(options, scene, traffic, timeline, signal);
  await run.all();
  traffic.end();
  const { flows, times } = traffic;
  const owed = owedTo(scene.witness, options.heals);
  await run.settle();
  const [first] = scene.replicas;
  const look = async (): Promise<void> => {
    const ledger = await first!.ledger();
    if (ledger !== null) timeline.watch?.look(ledger);
  };
  await look();
  const healed = keeper === null ? null : await run.heal(keeper, look, owed);
  const seconds = timeline.now;
  await timeline.stop();
  for (const replica of scene.replicas) {
    const code = await replica.stop();
    if (code !== 0) run.problems.push(`ingest ended with ${code} when it was stopped`);
  }
  traffic.stop();
  if (timeline.unbalanced > 0)
    run.problems.push(`the ledger did not add up in ${timeline.unbalanced} samples`);
  return {
    seconds,
    published: traffic.sent,
    acknowledged: traffic.acknowledged,
    faults: run.happened,
    samples: timeline.samples,
    readings: await judgeReadings(flows, owed, scene.storeUrl),
    quarantine: judgeQuarantine(flows, owed, scene),
    broker: judgeBroker(flows, owed),
    healed,
    named: timeline.watch?.judge(owed) ?? null,
    times: scene.broker === null ? times : null,
    redelivered: scene.replicas.reduce((sum, { counts }) => sum + counts.duplicate, 0),
    connects: traffic.connects,
    peakBytes: Math.max(...scene.replicas.map(({ peakBytes }) => peakBytes)),
    unexpectedEnds: scene.replicas.reduce((sum, replica) => sum + replica.unexpectedEnds, 0),
    problems: run.problems,
  };
}

/** The faults of a run, one after the other. */
class Pass {
  readonly happened: Happened[] = [];
  readonly problems: string[] = [];
  readonly #options: RunOptions;
  readonly #scene: Scene;
  readonly #traffic: Traffic;
  readonly #timeline: Timeline;
  readonly #signal: AbortSignal;
  readonly #random: SeededRandom;

  constructor(options: RunOptions, scene: Scene, traffic: Traffic, timeline: Timeline, signal: AbortSignal) {
    this.#options = options;
    this.#scene = scene;
    this.#traffic = traffic;
    this.#timeline = timeline;
    this.#signal = signal;
    this.#random = seeded(options.seed, STREAMS.faults);
  }

  /** Does passes until enough messages were sent. A pass that no message needs any more is cut short. */
  async all(): Promise<void> {
    const { profile, messages, seed, isQuick } = this.#options;
    const plan = seeded(seed, STREAMS.plan);
    do {
      for (const step of profile.steps(plan, isQuick)) {
        if (messages !== null && this.#traffic.sent >= messages) break;
        await this.#do(step);
      }
    } while (messages !== null && this.#traffic.sent < messages);
    const last = this.happened.at(-1);
    if (last !== undefined) await this.#recovered(last);
  }

  async #do({ fault, pause, hold: planned, settles }: Step): Promise<void> {
    const hold = this.#options.hold ?? planned;
    await this.#sleep(pause);
    const begin = this.#timeline.now;
    this.#options.say(`${begin.toFixed(1)} s: ${fault} for ${hold.toFixed(1)} s`);
    const end = await faultOf(fault).begin({
      scene: this.#scene,
      traffic: this.#traffic,
      random: this.#random,
    });
    try {
      await this.#sleep(hold);
    } finally {
      await end();
    }
    const ended = this.#timeline.now;
    const happened = { fault, begin, end: ended };
    this.happened.push(happened);
    if (settles) await this.#recovered(happened);
  }

  /** Waits until everything that was due before the end of a fault is stored. */
  async #recovered({ fault, begin, end }: Happened): Promise<void> {
    const limit = RECOVER_MS + 3000 * (end - begin);
    const isStored = () => {
      this.#signal.throwIfAborted();
      return this.#timeline.samples.at(-1)!.storedUntil >= end;
    };
    try {
      await waitUntil('the recovery', isStored, { timeoutMs: limit });
    } catch (error) {
      this.#signal.throwIfAborted();
      this.problems.push(
        `${limit / 1000} s after the end of ${fault}, not everything is stored: ${(error as Error).message}`,
      );
    }
  }

  /** Waits until all messages are acknowledged, and ingest has none left. */
  async settle(): Promise<void> {
    const { replicas, broker } = this.#scene;
    const wait = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
      try {
        await waitUntil(what, holds, { timeoutMs: ACKNOWLEDGED_MS });
      } catch (error) {
        this.problems.push((error as Error).message);
      }
    };
    await wait('the acknowledgement of all messages', () => {
      this.#signal.throwIfAborted();
      return this.#traffic.isAcknowledged;
    });
    let received = -1;
    let since = performance.now();
    await wait('ingest to store all messages', async () => {
      this.#signal.throwIfAborted();
      const ledgers = await Promise.all(replicas.map((replica) => replica.ledger()));
      const now = ledgers.reduce((sum, ledger) => sum + (ledger?.messages.received ?? 0), 0);
      const isIdle = ledgers.every(
        (ledger) =>
          ledger !== null &&
          ledger.readings.inFlight + ledger.readings.spooled === 0 &&
          (broker === null || ledger.mqtt.connected),
      );
      if (!isIdle || now !== received) since = performance.now();
      received = now;
      return performance.now() - since > QUIET_MS;
    });
  }

  /** Waits until the ledger lists nothing that sensors kept. */
  async heal(keeper: Keeper, look: () => Promise<void>, owed: Owed): Promise<Healed> {
    const begin = performance.now();
    let seconds: number | null = null;
    try {
      await waitUntil(
        'the sensors to send again what is missing',
        async () => {
          this.#signal.throwIfAborted();
          await look();
          return this.#timeline.watch!.wrong(owed) === 0;
        },
        { timeoutMs: HEALED_MS },
      );
      seconds = (performance.now() - begin) / 1000;
    } catch (error) {
      this.#signal.throwIfAborted();
      this.problems.push((error as Error).message);
    }
    return { requests: keeper.requests, messages: keeper.sentAgain, seconds };
  }

  async #sleep(seconds: number): Promise<void> {
    await sleep(seconds * 1000, undefined, { signal: this.#signal });
  }
}
