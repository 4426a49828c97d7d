import type { OpenOptions, Store } from '@tidegauge/storage';
import type { Random } from '@tidegauge/workload';
import type { Disk } from './disk.ts';
import { IngestProcess, type ProcessOptions } from './ingest-process.ts';
import type { Leases } from './leases.ts';
import type { ModelStore } from './model-store.ts';
import type { Mutant } from './mutants.ts';
import type { End, Plan } from './plan.ts';
import type { RelayNetwork } from './relay-network.ts';
import type { Trace } from './trace.ts';
import type { Traffic } from './traffic.ts';
import type { Owner, VirtualTime } from './virtual-time.ts';

/** The longest time without a process, milliseconds. */
const DOWN_MS = 5000;
const MOST_ENDS = 4;
/** The errors of a disk that is full or fails. */
const OF_DISK = /ENOSPC|EIO/;

/** What boards have in common. */
export interface Surroundings extends Pick<ProcessOptions, 'notify'> {
  readonly mutant: Mutant | null;
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly network: RelayNetwork;
  /** Milliseconds of the monotonic clock. */
  readonly endOfFaults: () => number;
  readonly traffic: () => Traffic;
  /** A new name for a real file of a quarantine. */
  readonly newFile: () => string;
  readonly fail: (mistake: string) => void;
}

/** A store, and who has its leases. */
export interface Site {
  readonly store: ModelStore;
  readonly leases: Leases;
}

export interface BoardOptions {
  /** Its number among all boards. */
  readonly place: number;
  readonly owner: Owner;
  readonly disk: Disk;
  readonly site: Site;
  readonly plan: Plan;
  /** Decides how its processes end. */
  readonly ends: Random;
}

/** A machine with a disk, on which one process of ingest after the other receives messages. */
export class Board {
  readonly owner: Owner;
  readonly disk: Disk;
  readonly site: Site;
  hadPowerCut = false;
  /** Whether a process could not compare its ledger with the store. */
  hadDoubts = false;
  readonly #place: number;
  readonly #plan: Plan;
  readonly #ends: Random;
  readonly #around: Surroundings;
  #process: IngestProcess | null = null;
  #processes = 0;
  #endsLeft: number;
  /** The step at which the process is killed, and how. */
  #endStep = Number.POSITIVE_INFINITY;
  #end: End = 'kill';
  /** An end that a process has come to itself. */
  #ended: End | null = null;
  #kernel = 1;
  #quarantine: string;

  constructor({ place, owner, disk, site, plan, ends }: BoardOptions, around: Surroundings) {
    this.#place = place;
    this.owner = owner;
    this.disk = disk;
    this.site = site;
    this.#plan = plan;
    this.#ends = ends;
    this.#around = around;
    this.#endsLeft = plan.ends.length === 0 ? 0 : 1 + ends.below(MOST_ENDS);
    this.#quarantine = around.newFile();
    around.mutant?.disk?.(disk);
  }

  /** The process, if it takes messages. */
  get running(): IngestProcess | null {
    return this.#process === null || this.#process.pipeline === null ? null : this.#process;
  }

  /** Processes that were started. */
  get processes(): number {
    return this.#processes;
  }

  /** The real file of the quarantine. */
  get quarantine(): string {
    return this.#quarantine;
  }

  start(): void {
    this.#processes++;
    const { mutant, time, trace, notify, traffic } = this.#around;
    const { store: model, leases } = this.site;
    trace.add(time.now, `process ${this.#processes}`);
    const { engine, store = (given: Store) => given } = mutant ?? {};
    const process: IngestProcess = this.#run(
      () =>
        new IngestProcess({
          ...this.#plan,
          notify,
          holder: `process-${this.#place}`,
          quarantine: this.#quarantine,
          createStore: (options: OpenOptions) => leases.watched(store(model.create(options, engine))),
          kernel: `kernel-${this.#kernel}`,
          mistake: mutant?.process ?? {},
          run: (work) => this.#run(work),
          request: (request) => traffic().request(request),
          onResume: () => traffic().pump(),
          onBroken: (error) => this.#broken(process, error),
        }),
    );
    this.#process = process;
    this.#planEnd();
    this.#run(() => process.start()).then(
      () => {
        this.hadDoubts ||= process.hasDoubts;
        traffic().connect();
      },
      (error: unknown) => this.#broken(process, error),
    );
  }

  /** The process can be killed at each step: it has no effect any more, and `settle` ends it. */
  killIfDue(): void {
    const { trace, time, network, endOfFaults } = this.#around;
    const isDue = trace.steps >= this.#endStep && time.now < endOfFaults();
    if (!isDue || this.#process === null) return;
    this.disk.isFrozen = true;
    this.site.store.frozen.add(this.owner);
    network.frozen.add(this.owner);
    this.#process.isKilled = true;
  }

  /** Ends a process that was killed, or that came to its end itself. Returns whether there is one. */
  settle(): boolean {
    const end = this.disk.isFrozen ? this.#end : this.#ended;
    if (end !== null) this.#endProcess(end);
    return end !== null;
  }

  /** Ends the process once more, in one of the ways of the schedule. */
  endAgain(): void {
    const end = this.#oneEnd();
    if (end === 'stop') this.#stop();
    else this.#endProcess(end);
  }

  /** Ends the last process of a schedule. */
  close(): void {
    this.#process?.kill(this.#around.newFile());
  }

  #run<T>(work: () => T): T {
    // Code without an owner is that of the first process. With one board, this saves a seventh of the time.
    return this.owner === 'process' && !this.#plan.hasPeer
      ? work()
      : this.#around.time.runAs(this.owner, work);
  }

  /** A process ends itself when its disk fails, and is started again. */
  #broken(process: IngestProcess, error: unknown): void {
    if (process.isKilled) return;
    const { message } = error as Error;
    if (OF_DISK.test(message)) this.#ended = 'kill';
    else this.#around.fail(`ingest ended: ${message}`);
  }

  /** Decides when the process ends, and how. */
  #planEnd(): void {
    const { time, trace, endOfFaults } = this.#around;
    this.#endStep = Number.POSITIVE_INFINITY;
    if (this.#endsLeft === 0 || time.now >= endOfFaults()) return;
    this.#endsLeft--;
    this.#end = this.#oneEnd();
    if (this.#end === 'stop')
      time.after(this.#ends.double() * DOWN_MS, this.owner, 'stop', () => this.#stop());
    else this.#endStep = trace.steps + this.#ends.below(this.#plan.operations);
  }

  #oneEnd(): End {
    const { ends } = this.#plan;
    return ends[this.#ends.below(ends.length)]!;
  }

  #stop(): void {
    const process = this.#process!;
    if (process.isStopping) return;
    if (process.pipeline === null) {
      this.#ended = 'kill';
      return;
    }
    this.#run(() => process.stop(() => this.#around.traffic().cut(this.#place))).then(
      () => {
        if (!process.isKilled) this.#ended = 'stop';
      },
      (error: unknown) => this.#broken(process, error),
    );
  }

  #endProcess(end: End): void {
    const { time, trace, network, traffic, newFile } = this.#around;
    const { store, leases } = this.site;
    trace.add(time.now, end);
    this.#ended = null;
    this.#endStep = Number.POSITIVE_INFINITY;
    this.#quarantine = this.#process!.kill(newFile());
    this.#process = null;
    time.endProcess(this.owner);
    store.endProcess(this.owner);
    leases.endProcess(this.owner);
    network.endProcess(this.owner);
    this.disk.endProcess();
    traffic().cut(this.#place);
    if (end === 'power cut') {
      this.disk.cutPower();
      this.#kernel++;
      this.hadPowerCut = true;
    }
    time.after(50 + this.#ends.double() * DOWN_MS, 'world', 'restart', () => this.start());
  }
}
