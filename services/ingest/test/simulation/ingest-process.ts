// First: modules of ingest take functions of Node when they are loaded.
import './world.ts';
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ResendDocument } from '@tidegauge/readings';
import { type Config, createLogger } from '@tidegauge/service';
import type { OpenOptions, Store } from '@tidegauge/storage';
import { type AlertReceiver, Alerts, type AlertsOptions } from '../../src/alerts/alerts.ts';
import { StoreLease } from '../../src/alerts/lease.ts';
import type { AlertRule } from '../../src/alerts/rule.ts';
import type { BrokerSource } from '../../src/broker-source.ts';
import type { Origin } from '../../src/delivery.ts';
import { IngestStore } from '../../src/ingest-store.ts';
import { type LedgerCheck, recoverLedger } from '../../src/ledger/check-ledger.ts';
import { LedgerFile } from '../../src/ledger/ledger-file.ts';
import { type Inbound, Pipeline, type PipelineOptions } from '../../src/pipeline.ts';
import { Quarantine } from '../../src/quarantine.ts';
import { httpMessage } from '../../src/raw-message.ts';
import { Boards } from '../../src/relay/boards.ts';
import { Relay } from '../../src/relay/relay.ts';
import { type RelayAnswer, readRelayRequest } from '../../src/relay/relay-message.ts';
import { takeRelayed } from '../../src/relay/take-relayed.ts';
import { startResending } from '../../src/resend/start-resending.ts';
import { Retention } from '../../src/retention/retention.ts';
import { RetentionRules } from '../../src/retention/rules.ts';
import { RollupWorker } from '../../src/rollup-worker.ts';
import { Router } from '../../src/routes.ts';
import { defaultRoutes } from '../../src/routes-file.ts';
import { SensorClocksFile } from '../../src/sensor-clocks-file.ts';
import type { FilterOptions } from '../../src/series-filter.ts';
import type { settings } from '../../src/settings.ts';
import { Share } from '../../src/share.ts';
import { Spool } from '../../src/spool.ts';
import { DATA } from './disk.ts';
import { FIRST_SENSOR, isShared, type Plan } from './plan.ts';
import { DEADBAND, METRIC, type Message } from './sensors.ts';
import { freeWith } from './world.ts';

export const LOGGER = createLogger('simulation', 'silent');
export const QUARANTINE_BYTES = 1024 * 1024;
/** How long a stop waits for the store, milliseconds. */
const STOP_MS = 7500;
export const SPOOL = `${DATA}/spool`;
const LEDGER = `${DATA}/ledger`;
const RELAY = `${DATA}/relay`;
const BOARDS = `${DATA}/boards`;
const CLOCKS = `${DATA}/clocks`;
const IDENTITY = `${DATA}/identity`;
const CENTRE = 'http://centre';
const QUERY = new URLSearchParams();
/** The time between two runs of retention, milliseconds. */
const RETENTION_MS = 5000;
/** After this time without a reading, an alert is due, microseconds. */
const QUIET_US = 10_000_000;

export interface ProcessOptions
  extends Pick<
    Plan,
    | 'ack'
    | 'alerts'
    | 'bounds'
    | 'hasPeer'
    | 'hasReplica'
    | 'isDirect'
    | 'isFiltered'
    | 'keep'
    | 'limitsDisk'
    | 'mostRows'
    | 'relayBytes'
    | 'spoolBytes'
  > {
  /** The name of the process for leases, and for its centre. */
  readonly holder: string;
  /** Runs code of the process that the world calls. */
  readonly run: <T>(work: () => T) => T;
  /** Creates a store that is not open. */
  readonly createStore: (options: OpenOptions) => Store;
  /** The real file of the quarantine. */
  readonly quarantine: string;
  /** Receives a message about an alert. */
  readonly notify: AlertReceiver['send'];
  /** The boot of the kernel. */
  readonly kernel: string;
  /** Sends a request for missing readings. Returns false when nobody can receive it. */
  readonly request: (request: ResendDocument) => boolean;
  /** Called when the process can take messages again. */
  readonly onResume: () => void;
  /** Called when the process must end: an operator has to act. */
  readonly onBroken: (error: unknown) => void;
  readonly mistake: Mistake;
}

/** A planted mistake of a process, as functions that replace its own. */
export interface Mistake {
  readonly options?: (options: PipelineOptions) => PipelineOptions;
  readonly alerts?: (options: AlertsOptions) => AlertsOptions;
  /** Changes the parts of a process before they are in use. */
  readonly parts?: (parts: Pick<IngestProcess, 'quarantine' | 'spool'>) => void;
  readonly pipeline?: (pipeline: Pipeline) => void;
  readonly accept?: (pipeline: Pipeline, message: Inbound, origin: Origin) => void;
  readonly request?: ProcessOptions['request'];
  readonly takeRelayed?: typeof takeRelayed;
}

const FILTER: FilterOptions = { deadband: DEADBAND, deadbands: new Map(), silence: 3_600_000_000 };

/** One process of ingest: the parts that `startIngest` connects, without HTTP. */
export class IngestProcess {
  readonly quarantine: Quarantine;
  readonly spool: Spool | null;
  readonly ledgerFile: LedgerFile;
  readonly clocksFile: SensorClocksFile;
  isPaused = true;
  isStopping = false;
  isKilled = false;
  /** Whether the store could not be compared with the ledger, so that gaps cannot be judged. */
  hasDoubts = false;
  readonly #options: ProcessOptions;
  #store!: IngestStore;
  /** Of the clients of direct mode, by name. */
  readonly #shares = new Map<string, Share>();
  #pipeline: Pipeline | null = null;
  #check: LedgerCheck | null = null;
  #router!: Router;
  #relay: Relay | null = null;
  /** Null until one relays to it. */
  #boards: Boards | null = null;
  #alerts: Alerts | null = null;
  #rollups: RollupWorker | null = null;
  #retention: Retention | null = null;
  #resending: ReturnType<typeof startResending> = null;
  #isClosed = false;

  /** @throws {ConfigError} when a file cannot be opened */
  constructor(options: ProcessOptions) {
    this.#options = options;
    const { quarantine, spoolBytes, kernel, mistake } = options;
    this.quarantine = new Quarantine(quarantine, 'simulation', QUARANTINE_BYTES);
    this.spool = spoolBytes === 0 ? null : new Spool(SPOOL, spoolBytes, LOGGER);
    this.ledgerFile = new LedgerFile(LEDGER, LOGGER, kernel);
    this.clocksFile = new SensorClocksFile(CLOCKS, LOGGER);
    mistake.parts?.(this);
  }

  /** Null until `start` has resolved. */
  get pipeline(): Pipeline | null {
    return this.#pipeline;
  }

  /** Null without a centre, and until `start` has resolved. */
  get relay(): Relay | null {
    return this.#relay;
  }

  /** Null without rules, and until `start` has resolved. */
  get alerts(): Alerts | null {
    return this.#alerts;
  }

  /** Null without rollups, and until `start` has resolved. */
  get rollups(): RollupWorker | null {
    return this.#rollups;
  }

  /** Null when readings are kept forever, and until `start` has resolved. */
  get retention(): Retention | null {
    return this.#retention;
  }

  /** Recovers what an earlier process left, as `startIngest` does, and takes messages then. */
  async start(): Promise<void> {
    const { ack, isFiltered, bounds, mistake, onResume, onBroken } = this.#options;
    const store = await this.#openStore();
    this.#check = await recoverLedger(this.ledgerFile, store, isFiltered, LOGGER);
    if (this.#check !== null) {
      this.hasDoubts = [...this.ledgerFile.ledger.states()].some(([, , , uncertain]) => uncertain > 0);
    }
    const filter = isFiltered ? FILTER : null;
    const router = new Router(defaultRoutes(ack).map((route) => ({ ...route, filter })));
    this.#router = router;
    this.#relay = this.#openRelay();
    this.#alerts = this.#openAlerts();
    this.#retention = retentionOf(store, this.#options.holder, this.#options);
    const options: PipelineOptions = {
      store,
      replica: isShared(this.#options) ? this.#options.holder : null,
      storeTrouble: () => store.trouble,
      router,
      quarantine: this.quarantine,
      spool: this.spool,
      clocks: this.clocksFile.clocks,
      logger: LOGGER,
      sequences: this.ledgerFile.ledger,
      onSequences: (oldest, late) => this.ledgerFile.flush(oldest, late),
      ...bounds,
      ...(this.#relay === null ? {} : { onCommitted: this.#relay.append }),
      onStored: (readings) => this.#alerts?.push(readings),
      onFull: (isFull) => {
        this.isPaused = isFull;
        if (!isFull) onResume();
      },
      onBroken: (error) => {
        if (!this.isStopping) onBroken(error);
      },
    };
    this.#pipeline = new Pipeline(mistake.options?.(options) ?? options);
    mistake.pipeline?.(this.#pipeline);
    this.#startResending(router);
    this.#relay?.start();
    store.opened.then(
      () => {
        this.#alerts?.start();
        this.#rollups?.start();
        this.#retention?.start();
      },
      () => {},
    );
    this.isPaused = false;
    onResume();
  }

  async #openStore(): Promise<IngestStore> {
    const { createStore, onBroken } = this.#options;
    const store = await IngestStore.create({
      ...{ url: 'model:', journal: IDENTITY, logger: LOGGER, onBroken },
      create: async (_, options) => createStore(options!),
    });
    await store.open();
    if (store.capabilities.rollups) this.#rollups = new RollupWorker(store, randomUUID(), LOGGER);
    this.#store = store;
    return store;
  }

  #openRelay(): Relay | null {
    const { relayBytes: relayMaxBytes } = this.#options;
    if (relayMaxBytes === 0) return null;
    const config = { relay: [CENTRE], relayToken: null, relayMaxBytes, relayRate: 0 };
    const { holder } = this.#options;
    return new Relay(config, {
      directory: RELAY,
      id: holder,
      name: holder,
      store: this.#store,
      logger: LOGGER,
    });
  }

  #openAlerts(): Alerts | null {
    const { alerts, hasReplica, hasPeer, holder, notify, mistake } = this.#options;
    if (alerts === null) return null;
    const isReceiving = () => this.#pipeline!.trouble === null && this.#pipeline!.accounts.spooled === 0;
    const parts = { store: this.#store, holder, isShared: hasReplica || hasPeer, notify, isReceiving };
    const options = alertsOf(alerts, parts);
    return new Alerts(mistake.alerts?.(options) ?? options);
  }

  #startResending(router: Router): void {
    const request = this.#options.mistake.request ?? this.#options.request;
    const session = { publish: (_: string, payload: Buffer) => request(JSON.parse(payload.toString())) };
    const shareGroup = isShared(this.#options) ? 'group' : null;
    const config = { resend: true, shareGroup } as Config<typeof settings>;
    const broker = { session } as unknown as BrokerSource;
    this.#resending = startResending(config, { pipeline: this.#pipeline!, router, broker, direct: null });
  }

  /** @param settled called when the message may be acknowledged */
  accept({ topic, text }: Message, dup: boolean, settled: () => void): void {
    const payload = bytesOf(text);
    const message = {
      topic,
      payload,
      qos: 1,
      retain: false,
      dup,
      size: payload.length + topic.length,
    } as const;
    const { mistake, run } = this.#options;
    const accept: Mistake['accept'] = mistake.accept ?? ((pipeline, ...given) => pipeline.accept(...given));
    run(() => accept(this.#pipeline!, message, this.#originOf(topic, settled)));
  }

  /** Whether the message waits, because the process or its client has as much in flight as it may. */
  holds({ topic }: Message): boolean {
    return this.isPaused || this.#shares.get(clientOf(topic))?.isFull === true;
  }

  /** In direct mode, a client has a share of the messages in flight and of the spool. */
  #originOf(topic: string, settled: () => void): Origin {
    const { isDirect, onResume } = this.#options;
    if (!isDirect) return { settled };
    const client = clientOf(topic);
    let share = this.#shares.get(client);
    if (share === undefined) {
      share = new Share((isFull) => {
        if (!isFull) onResume();
      });
      this.#shares.set(client, share);
    }
    return { settled, client, share };
  }

  /**
   * Takes a request of a board.
   *
   * @throws {Problem} as `takeRelayed`
   */
  takeRelayed(body: Buffer): Promise<RelayAnswer> {
    this.#boards ??= new Boards(BOARDS, LOGGER);
    const take = this.#options.mistake.takeRelayed ?? takeRelayed;
    const centre = {
      ...{ pipeline: this.#pipeline!, router: this.#router, store: this.#store },
      ...{ boards: this.#boards, beyond: () => [] },
    };
    return take(centre, readRelayRequest(body), { client: 'board', limit: null });
  }

  async deliver({ text }: Message): Promise<void> {
    const message = httpMessage('application/json', QUERY, bytesOf(text));
    await this.#options.run(() => this.#pipeline!.deliver(message));
  }

  /**
   * Stops in order, as `drain` and the steps after it.
   *
   * @param disconnect ends all connections
   */
  async stop(disconnect: () => void): Promise<void> {
    this.isStopping = true;
    this.#resending?.stop();
    this.#pipeline!.stop();
    await Promise.race([this.#pipeline!.idle(), sleep(STOP_MS)]);
    this.#pipeline!.abort();
    disconnect();
    await this.#rollups?.stop();
    await this.#retention?.stop();
    await this.#alerts?.stop();
    await this.#relay?.stop();
    this.#check?.stop();
    await this.ledgerFile.close();
    await this.spool?.close();
    this.clocksFile.close();
    await this.#store.close();
    this.quarantine.close();
    this.#isClosed = true;
  }

  /** Ends it at once, or after a stop. The next process finds the quarantine in the file that is returned. */
  kill(next: string): string {
    this.isKilled = true;
    const { quarantine } = this.#options;
    if (this.#isClosed) return quarantine;
    // A close would write its log into its file. SQLite has synced all that it committed.
    for (const end of ['', '-wal']) {
      rmSync(`${next}${end}`, { force: true });
      if (existsSync(`${quarantine}${end}`)) copyFileSync(`${quarantine}${end}`, `${next}${end}`);
    }
    this.quarantine.close();
    for (const end of ['', '-wal', '-shm']) rmSync(`${quarantine}${end}`, { force: true });
    return next;
  }
}

/** What retention depends on. */
export type RetentionPlan = Pick<Plan, 'keep' | 'limitsDisk' | 'mostRows'>;

/** Retention of one process, which deletes readings that are too old, or too many; null without limits. */
export function retentionOf(
  store: Store,
  holder: string,
  { keep, mostRows, limitsDisk }: RetentionPlan,
): Retention | null {
  if (keep === null && mostRows === null) return null;
  const forever = Number.POSITIVE_INFINITY;
  const { ms, ofFirstMs } = keep ?? { ms: forever, ofFirstMs: forever };
  const raw = (kept: number) => ({ raw: kept * 1000, minute: forever, hour: forever, day: forever });
  const first = { name: FIRST_SENSOR, devices: FIRST_SENSOR, metrics: null, ...raw(ofFirstMs) };
  const rules = new RetentionRules(ofFirstMs === ms ? [] : [first], raw(ms));
  return new Retention({
    ...{ store, holder, rules: () => rules, logger: LOGGER },
    limits: limitsDisk
      ? { maxBytes: 0, minFreeBytes: freeWith(mostRows!) }
      : { maxBytes: mostRows ?? 0, minFreeBytes: 0 },
    ...{ everyMs: RETENTION_MS, waitsForRollups: true },
  });
}

interface AlertParts extends Pick<AlertsOptions, 'store' | 'isReceiving'> {
  readonly holder: string;
  readonly isShared: boolean;
  readonly notify: AlertReceiver['send'];
}

/** The alerts of one process. */
export function alertsOf(
  plan: NonNullable<Plan['alerts']>,
  { store, isReceiving, holder, isShared, notify }: AlertParts,
): AlertsOptions {
  return {
    ...{ rules: rulesOf(plan), store, isReceiving, logger: LOGGER },
    lease: new StoreLease(store, holder, isShared),
    receivers: [{ name: 'model', version: '1', send: notify }],
  };
}

/** Two rules for values, and one for silence. */
function rulesOf({ limit, holds }: NonNullable<Plan['alerts']>): readonly AlertRule[] {
  const limits = { above: null, below: null, clearAbove: null, clearBelow: null };
  const all = { severity: 'warning', device: null, metric: METRIC } as const;
  const range = (name: string, own: object): AlertRule => ({
    ...{ name, ...all },
    condition: { kind: 'range', ...limits, ...own, holds },
  });
  return [
    range('high', { above: limit, clearAbove: limit }),
    range('low', { below: limit, clearBelow: limit }),
    { name: 'quiet', ...all, condition: { kind: 'quiet', quiet: QUIET_US } },
  ];
}

/** The login of a sensor: its device. */
function clientOf(topic: string): string {
  return topic.split('/')[1]!;
}

/** Bytes with their own buffer: the memory of one that is shared would depend on earlier messages. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}
