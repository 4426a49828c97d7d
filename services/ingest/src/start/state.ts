import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { ConfigError, keepPrivate, lockDirectory, observeStore } from '@tidegauge/service';
import { STORE_ERROR_CODES } from '@tidegauge/storage';
import { IngestStore } from '../ingest-store.ts';
import { type LedgerCheck, recoverLedger } from '../ledger/check-ledger.ts';
import { LedgerFile } from '../ledger/ledger-file.ts';
import { Quarantine } from '../quarantine.ts';
import { Boards } from '../relay/boards.ts';
import { Relay } from '../relay/relay.ts';
import type { Limits } from '../retention/limits.ts';
import { Retention } from '../retention/retention.ts';
import { RulesFile } from '../retention/rules-file.ts';
import { TrustedTime } from '../retention/trusted-time.ts';
import { RollupWorker } from '../rollup-worker.ts';
import { SensorClocksFile } from '../sensor-clocks-file.ts';
import { Spool } from '../spool.ts';
import { keepTopicLevels } from '../topic-levels.ts';
import type { Files } from './files.ts';
import type { Start } from './start.ts';

/** How long to wait for another ingest process with this client id that is stopping. */
const LOCK_MS = 15_000;

export type State = Awaited<ReturnType<typeof openState>>;

/**
 * Opens what an earlier process left in the data directory and in the store, and what works on it. The store may be
 * unavailable.
 *
 * @throws {ConfigError} when something cannot be opened
 */
export async function openState(start: Start, files: Files) {
  const { config, logger, undo } = start;
  const { clientId: instance, dataDir } = config;
  const lock = await lockDirectory(dataDir, instance, { waitMs: LOCK_MS, setting: 'DATA_DIR' });
  undo.push(() => lock.release());
  keepTopicLevels(dataDir, files.levels);
  keepPrivate(dataDir, (name) => name.startsWith(`${instance}.`), logger);
  const quarantine = new Quarantine(
    fileOf(start, 'quarantine.db'),
    instance,
    config.quarantineMaxBytes,
    logger,
  );
  undo.push(() => quarantine.close());
  const store = await openStore(start);
  const retention = openRetention(start, files, store);
  const spool = openSpool(start);
  undo.push(() => spool?.close());
  const ledger = await openLedger(start, files, store);
  const clocksFile = new SensorClocksFile(fileOf(start, 'clocks'), logger);
  undo.push(() => clocksFile.close());
  const relaying = openRelay(start, store);
  const rollups = openRollups(start, store);
  return { quarantine, store, ...retention, spool, ...ledger, clocksFile, ...relaying, rollups };
}

/** The name of the store in metrics. */
export function backendOf({ config: { store } }: Start): string {
  return store.slice(0, store.indexOf(':'));
}

function fileOf({ config: { dataDir, clientId } }: Start, name: string): string {
  return join(dataDir, `${clientId}.${name}`);
}

async function openStore(start: Start): Promise<IngestStore> {
  const { config, logger, metrics, undo, onBroken } = start;
  const backend = backendOf(start);
  const store = await IngestStore.create({
    url: config.store,
    journal: fileOf(start, `${backend}.identity`),
    logger,
    observe: observeStore(metrics, backend, Object.keys(STORE_ERROR_CODES)),
    onBroken,
  });
  undo.push(() => store.close());
  await store.open();
  return store;
}

/** @throws {ConfigError} when a rule cannot be used */
function openRetention(start: Start, { retentionFile }: Files, store: IngestStore) {
  const { config, undo } = start;
  const logger = start.logger.child({ component: 'retention' });
  const keepRules = new RulesFile({ ...retentionFile, last: config.retention, store, logger });
  undo.push(() => keepRules.close());
  const time = new TrustedTime(fileOf(start, 'retention'), logger);
  const limits: Limits = { maxBytes: config.retentionMaxBytes, minFreeBytes: config.retentionMinFree };
  const retention = new Retention({
    store,
    rules: () => keepRules.rules,
    limits,
    holder: config.clientId,
    everyMs: config.retentionEvery * 1000,
    waitsForRollups: config.rollups,
    clock: () => time.now(),
    logger,
  });
  return { keepRules, retention, limits };
}

/** Starts to delete, now or when there is the first rule. Call it when the store answers. */
export function startRetention({ keepRules, retention, limits }: State): void {
  const startIfUsed = () => {
    if (keepRules.isUsed || limits.maxBytes > 0 || limits.minFreeBytes > 0) retention.start();
  };
  keepRules.onChange(startIfUsed);
  startIfUsed();
}

function openSpool({ config, logger }: Start): Spool | null {
  if (config.spoolMaxBytes === 0) return null;
  const directory = join(config.spoolDir ?? join(config.dataDir, 'spool'), config.clientId);
  return new Spool(directory, config.spoolMaxBytes, logger.child({ component: 'spool' }));
}

/**
 * Opens the ledger of sequence numbers of an earlier process. After a power cut it is compared with the store, as soon as
 * the store answers.
 *
 * @throws {ConfigError} when its file cannot be read or written
 */
async function openLedger(
  start: Start,
  { router: { routes } }: Files,
  store: IngestStore,
): Promise<{ readonly ledgerFile: LedgerFile; readonly ledgerCheck: LedgerCheck | null }> {
  const { undo } = start;
  const path = fileOf(start, 'ledger');
  const logger = start.logger.child({ component: 'ledger' });
  const ledgerFile = new LedgerFile(path, logger);
  try {
    const hasFilters = routes.some(({ filter }) => filter !== null);
    const ledgerCheck = await recoverLedger(ledgerFile, store, hasFilters, logger);
    undo.push(() => ledgerFile.close());
    undo.push(() => ledgerCheck?.stop());
    return { ledgerFile, ledgerCheck };
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError([`the ledger ${path} cannot be opened: ${reason}: check DATA_DIR`]);
  }
}

/** Opens the boards that relay to this one, and what waits for the centres of an earlier process; null without RELAY. */
function openRelay(
  start: Start,
  store: IngestStore,
): { readonly boards: Boards; readonly relay: Relay | null } {
  const { config, undo } = start;
  const logger = start.logger.child({ component: 'relay' });
  const boards = new Boards(fileOf(start, 'boards'), logger);
  undo.push(() => boards.close());
  if (config.relay === null) return { boards, relay: null };
  const directory = join(config.dataDir, 'relay', config.clientId);
  const name = config.boardName ?? hostname();
  const relay = new Relay(config, { directory, store, id: boards.id, name, logger });
  undo.push(() => relay.stop());
  return { boards, relay };
}

function openRollups(
  { config: { rollups, clientId }, logger }: Start,
  store: IngestStore,
): RollupWorker | null {
  if (!rollups || !store.capabilities.rollups) return null;
  return new RollupWorker(store, `${clientId}.${randomUUID()}`, logger.child({ component: 'rollups' }));
}
