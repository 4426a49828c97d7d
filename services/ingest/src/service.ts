import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { MqttSessionError } from '@tidegauge/mqtt-session';
import { compileInfluxNames } from '@tidegauge/readings';
import {
  type Config,
  ConfigError,
  checkAccess,
  createLogger,
  keepPrivate,
  type Logger,
  listen,
  lockDirectory,
  Metrics,
  observeStore,
  openAccess,
  type ReadinessChecks,
  type Running,
} from '@tidegauge/service';
import { STORE_ERROR_CODES, type Store } from '@tidegauge/storage';
import { HOLD } from './ack-demand.ts';
import { Alerts } from './alerts/alerts.ts';
import { mailServerOf } from './alerts/email.ts';
import { EntriesFile } from './alerts/entries-file.ts';
import { StoreLease } from './alerts/lease.ts';
import { measureAlerts } from './alerts/measure.ts';
import { mqttNotices } from './alerts/mqtt-notices.ts';
import { parseReceivers, type Receiver } from './alerts/receivers-file.ts';
import type { AlertRule } from './alerts/rule.ts';
import { parseAlertRules } from './alerts/rules-file.ts';
import { webhook } from './alerts/webhook.ts';
import { createApp } from './app.ts';
import { BrokerSource, brokerOf } from './broker-source.ts';
import { DirectSource } from './direct/direct-source.ts';
import { measureDirect } from './direct/measure.ts';
import { keepHeapSmall } from './heap.ts';
import { IngestStore } from './ingest-store.ts';
import { type LedgerCheck, recoverLedger } from './ledger/check-ledger.ts';
import { LedgerFile } from './ledger/ledger-file.ts';
import { measure, measureRollups } from './measure.ts';
import type { MessageSource } from './message-source.ts';
import { mqttAddresses } from './mqtt-addresses.ts';
import { Pipeline } from './pipeline.ts';
import { Quarantine } from './quarantine.ts';
import { registerWithSite } from './register-with-site.ts';
import { Boards } from './relay/boards.ts';
import { measureRelay } from './relay/measure.ts';
import { Relay } from './relay/relay.ts';
import { measureResend } from './resend/measure.ts';
import { startResending } from './resend/start-resending.ts';
import { checkLimits, type Limits } from './retention/limits.ts';
import { measureRetention } from './retention/measure.ts';
import { Retention } from './retention/retention.ts';
import { loadRules, RetentionRules } from './retention/rules.ts';
import { RulesFile } from './retention/rules-file.ts';
import { TrustedTime } from './retention/trusted-time.ts';
import { RollupWorker } from './rollup-worker.ts';
import { RouteReloader } from './route-reloader.ts';
import { type Route, Router } from './routes.ts';
import { loadRoutes, routesFileOf } from './routes-file.ts';
import { SensorClocksFile } from './sensor-clocks-file.ts';
import type { settings } from './settings.ts';
import { Spool } from './spool.ts';
import { findTopicLevels, keepTopicLevels, reportTopicLevels } from './topic-levels.ts';

/** How long to wait for another ingest process with this client id that is stopping. */
const LOCK_MS = 15_000;
/** The share of STOP_TIMEOUT that is reserved for closing the session, HTTP, the spool and the store. */
const CLOSING_SHARE = 0.25;
/** Most readings in one write. It bounds the memory and the time of a write. */
const MAX_BATCH = 5000;
/** Least time between two writes under load, unless `PACE` has another. */
const PACE_MS = 3;

/**
 * Starts ingest. Resolves when it takes readings: HTTP listens, and the broker session is connected and subscribed. While
 * the store or the broker is unavailable it retries, and `/readyz` reports it.
 */
export async function startIngest(config: Config<typeof settings>, signal: AbortSignal): Promise<Running> {
  const { clientId: instance, httpToken: token } = config;
  const login = { ...config, token, variable: 'HTTP_TOKEN' };
  checkAccess(login);
  const logger = createLogger('ingest', config.logLevel);
  const metrics = new Metrics(config.boardName);
  const routesFile = routesFileOf(config);
  const routes = openRoutes(config, routesFile, logger);
  const levels = findTopicLevels(config.dataDir, config.topicLevels);
  const router = new Router(routes, {
    influxNames: compileInfluxNames(config.influxDevice, config.influxMetric),
    levels: levels.used,
    zone: config.timeZone,
  });
  const alertFiles = openAlertFiles(config, logger);
  checkAlertTopic(config, router);
  // Before anything is created, so that a mistake leaves nothing behind.
  const { file, isRequired } = retentionFileOf(config);
  new RetentionRules(loadRules(file, isRequired), config.retention);
  const backend = config.store.slice(0, config.store.indexOf(':'));
  const broken = Promise.withResolvers<never>();
  // The promise may reject before a caller waits for it.
  broken.promise.catch(() => {});

  const undo: (() => unknown)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const lock = await lockDirectory(config.dataDir, instance, { waitMs: LOCK_MS, setting: 'DATA_DIR' });
    undo.push(() => lock.release());
    keepTopicLevels(config.dataDir, levels);
    keepPrivate(config.dataDir, (name) => name.startsWith(`${instance}.`), logger);
    const quarantine = new Quarantine(
      join(config.dataDir, `${instance}.quarantine.db`),
      instance,
      config.quarantineMaxBytes,
      logger,
    );
    undo.push(() => quarantine.close());
    const store = await IngestStore.create({
      url: config.store,
      journal: join(config.dataDir, `${instance}.${backend}.identity`),
      logger,
      observe: observeStore(metrics, backend, Object.keys(STORE_ERROR_CODES)),
      onBroken: (error) => broken.reject(error),
    });
    undo.push(() => store.close());
    await store.open();
    const lastRun = join(config.dataDir, `${instance}.retention`);
    const { keepRules, retention } = openRetention(config, store, lastRun, logger);
    undo.push(() => keepRules.close());
    const spool = openSpool(config, logger);
    undo.push(() => spool?.close());
    const { ledgerFile, ledgerCheck } = await openLedger(config, store, router, logger);
    undo.push(() => ledgerFile.close());
    undo.push(() => ledgerCheck?.stop());
    const clocksFile = new SensorClocksFile(join(config.dataDir, `${instance}.clocks`), logger);
    undo.push(() => clocksFile.close());
    const relayLogger = logger.child({ component: 'relay' });
    const boards = new Boards(join(config.dataDir, `${instance}.boards`), relayLogger);
    undo.push(() => boards.close());
    const relay = openRelay(config, store, boards, relayLogger);
    undo.push(() => relay?.stop());
    const { broker, direct } = openSources(config, router, logger.child({ component: 'mqtt' }));
    const sources: readonly MessageSource[] = [direct, broker].filter((source) => source !== null);
    const isConnected = () => sources.every(({ connected }) => connected);
    const pipeline = new Pipeline({
      store,
      storeTrouble: () => store.trouble,
      router,
      quarantine,
      spool,
      logger,
      sequences: ledgerFile.ledger,
      clocks: clocksFile.clocks,
      onSequences: (oldest, late) => ledgerFile.flush(oldest, late),
      ...(config.siteFromDevice
        ? { register: (names: readonly string[]) => registerWithSite(store.devices, names) }
        : {}),
      maxBatch: MAX_BATCH,
      ...(config.pace === 'auto' ? { paceMs: PACE_MS, hold: HOLD } : { paceMs: config.pace * 1000 }),
      maxInFlight: config.maxInFlight,
      maxInFlightBytes: config.maxInFlightBytes,
      onFull: (full) => {
        for (const source of sources) full ? source.pause() : source.resume();
      },
      onReply: ({ topic, payload }) => void broker?.session.publish(topic, payload),
      ...(relay === null ? {} : { onCommitted: relay.append }),
      onStored: (readings) => alerts.push(readings),
      onBroken: (error) => broken.reject(error),
    });
    const fixed = fixedReceivers(config, broker);
    const alerts = new Alerts({
      rules: alertFiles.rules.entries,
      store,
      lease: new StoreLease(store, instance, config.shareGroup !== null),
      receivers: [...fixed, ...alertFiles.receivers.entries],
      logger: logger.child({ component: 'alerts' }),
      isReceiving: () => isConnected() && pipeline.trouble === null && pipeline.accounts.spooled === 0,
    });
    const useAlerts = (changed: readonly AlertRule[]) => {
      alerts.replace(changed);
      alerts.start();
    };
    alertFiles.rules.watch(useAlerts);
    undo.push(() => alertFiles.rules.stop());
    alertFiles.receivers.watch((entries) => alerts.replaceReceivers([...fixed, ...entries]));
    undo.push(() => alertFiles.receivers.stop());
    const addresses = mqttAddresses(config);
    const mqtt = () => ({
      connected: isConnected(),
      reconnects: broker?.session.stats.reconnects ?? 0,
      addresses,
    });
    const reloader = new RouteReloader({
      file: routesFile,
      ack: config.ack,
      router,
      check: (routes) => checkShared(routes, config.shareGroup),
      subscribe: async (routes) =>
        void (await Promise.all(sources.map((source) => source.subscribe(routes)))),
      logger,
    });
    const rollups = openRollups(config, store, logger);
    const resending = startResending(config, { pipeline, router, broker, direct });
    undo.push(() => resending?.stop());
    measure(metrics, pipeline, router, quarantine, backend, mqtt, reloader);
    measureResend(metrics, resending?.plan ?? null);
    measureDirect(metrics, direct);
    measureRollups(metrics, rollups);
    measureAlerts(metrics, alerts, alertFiles.rules);
    measureRetention(metrics, retention, keepRules);
    measureRelay(metrics, relay, boards);
    const checks: ReadinessChecks = {
      ...Object.fromEntries(sources.map((source) => [source.name, () => source.trouble])),
      ingest: () => (pipeline.stopping ? 'ingest is stopping' : null),
      'the store': () => pipeline.trouble ?? store.health().then(() => null),
    };
    const maxPayload = config.maxPayload;
    const access = openAccess(login, logger, metrics);
    undo.push(() => access.close());
    const app = createApp({
      pipeline,
      quarantine,
      router,
      metrics,
      logger,
      instance,
      backend,
      maxPayload,
      listen: config.httpListen,
      access,
      allowedHosts: config.allowedHosts ?? [],
      corsOrigins: config.corsOrigins ?? [],
      broker: mqtt,
      checks,
      reloader,
      alerts,
      alertFiles: { ...alertFiles, fixed },
      passwords: config.listen === null ? null : config.listenPasswords,
      retention,
      retentionParts: {
        retention,
        rules: keepRules,
        store,
        limits: retentionLimits(config),
        everyMs: config.retentionEvery * 1000,
      },
      relay: { relay, boards, store },
      warnings: () =>
        [
          reloader.warning ?? [],
          alertFiles.rules.warning ?? [],
          alertFiles.receivers.warning ?? [],
          keepRules.warning ?? [],
          ledgerFile.trouble ?? ledgerCheck?.trouble ?? [],
        ].flat(),
    });
    const http = await listen(app, config.httpListen, config.metricsPort, 'METRICS_PORT (--metrics-port)');
    undo.push(() => http.close());
    undo.push(() => alerts.stop());
    const stopBackground = () => Promise.all([rollups?.stop(), retention.stop()]);
    undo.push(() => drain(pipeline, sources, stopBackground(), config.stopTimeout));
    const useStore = async () => {
      await checkLimits(store, retentionLimits(config));
      await reportTopicLevels(levels, config.dataDir, store, logger);
      rollups?.start();
      if (alertFiles.rules.exists) alerts.start();
      const startRetention = () => {
        if (keepRules.isUsed || config.retentionMaxBytes > 0 || config.retentionMinFree > 0)
          retention.start();
      };
      keepRules.onChange(startRetention);
      startRetention();
    };
    if (store.trouble === null) await useStore();
    else store.opened.then(useStore).catch(broken.reject);
    undo.push(watchRoutes(reloader));
    keepHeapSmall();
    relay?.start();
    for (const source of sources) await source.start(pipeline, signal);
    if (!alertFiles.rules.exists && alerts.channels.length > 0)
      logger.warn('there are no alert rules: they are used as soon as their file exists');
    const from = { broker: brokerOf(config) ?? undefined, listen: config.listen ?? undefined };
    logger.info({ store: backend, http: http.url, ...from }, 'ingest is ready');
    return { stop, failed: broken.promise };
  } catch (error) {
    await stop();
    throw explained(error);
  }
}

/** A mistake of the configuration for an error that stays until the configuration changes. */
function explained(error: unknown): unknown {
  if (!(error instanceof MqttSessionError) || !error.permanent) return error;
  return new ConfigError([error.hint === null ? error.message : `${error.message}: ${error.hint}`]);
}

/** @throws {ConfigError} when the routes cannot be used */
function openRoutes(config: Config<typeof settings>, file: string, logger: Logger): readonly Route[] {
  const { routes, warnings } = loadRoutes(file, config.ack, config.timeZone);
  for (const warning of warnings) logger.warn({ warning }, 'a route may be wrong');
  if (config.routes !== null && !existsSync(file))
    logger.warn({ file }, 'there is no routes file: the default route is used until it exists');
  checkShared(routes, config.shareGroup);
  return routes;
}

function openSources(config: Config<typeof settings>, router: Router, logger: Logger) {
  const brokerUrl = brokerOf(config);
  const broker = brokerUrl === null ? null : new BrokerSource(config, brokerUrl, router.routes, logger);
  const takes = (topic: string) => router.resolve(topic).route !== null;
  const direct = config.listen === null ? null : new DirectSource(config, takes, logger);
  return { broker, direct };
}

function openRollups(
  { rollups, clientId }: Config<typeof settings>,
  store: IngestStore,
  logger: Logger,
): RollupWorker | null {
  if (!rollups || !store.capabilities.rollups) return null;
  return new RollupWorker(store, `${clientId}.${randomUUID()}`, logger.child({ component: 'rollups' }));
}

/**
 * Watches the routes file, and reloads it on SIGHUP. A terminal sends SIGHUP to end the programs in it, so there the
 * signal keeps that meaning. Returns a function that ends the watch.
 */
function watchRoutes(reloader: RouteReloader): () => void {
  const onSignal = () => void reloader.reload().catch(() => {});
  if (!process.stdin.isTTY) process.on('SIGHUP', onSignal);
  reloader.watch();
  return () => {
    process.off('SIGHUP', onSignal);
    reloader.stop();
  };
}

/**
 * A decoder with state must receive all messages of its topics, and the members of a share group receive a part each.
 *
 * @throws {ConfigError}
 */
function checkShared(routes: readonly Route[], shareGroup: string | null): void {
  const route = routes.find(({ stateful }) => stateful !== null);
  if (route === undefined || shareGroup === null) return;
  throw new ConfigError([
    `SHARE_GROUP is ${shareGroup}, but the route ${route.name} reads ${route.format}, whose messages depend on each other: ` +
      'read its topics with one ingest process without SHARE_GROUP, and leave the route out here',
  ]);
}

function retentionLimits({ retentionMaxBytes, retentionMinFree }: Config<typeof settings>): Limits {
  return { maxBytes: retentionMaxBytes, minFreeBytes: retentionMinFree };
}

/** The file of retention rules. One that is not named need not exist. */
function retentionFileOf({ retentionRules, dataDir }: Config<typeof settings>) {
  return { file: retentionRules ?? join(dataDir, 'retention.yml'), isRequired: retentionRules !== null };
}

/**
 * @param lastRun the file with the time of the last run
 * @throws {ConfigError} when a rule cannot be used
 */
function openRetention(config: Config<typeof settings>, store: Store, lastRun: string, logger: Logger) {
  const own = logger.child({ component: 'retention' });
  const file = retentionFileOf(config);
  const keepRules = new RulesFile({ ...file, last: config.retention, store, logger: own });
  const time = new TrustedTime(lastRun, own);
  const retention = new Retention({
    store,
    rules: () => keepRules.rules,
    limits: retentionLimits(config),
    holder: config.clientId,
    everyMs: config.retentionEvery * 1000,
    waitsForRollups: config.rollups,
    clock: () => time.now(),
    logger: own,
  });
  return { keepRules, retention };
}

/**
 * Refuses a topic that ingest would receive itself.
 *
 * @throws {ConfigError}
 */
function checkAlertTopic(config: Config<typeof settings>, router: Router): void {
  const { alertTopic } = config;
  if (alertTopic === null) return;
  if (brokerOf(config) === null)
    throw new ConfigError(['ALERT_TOPIC needs a broker, which passes the messages on: set BROKER']);
  const { route } = router.resolve(`${alertTopic}/rule/device/metric`);
  if (route === null) return;
  throw new ConfigError([
    `ALERT_TOPIC is ${alertTopic}, which the route ${route.name} (${route.template.template}) would receive: choose a topic that no route takes`,
  ]);
}

/**
 * The files of alert rules and of receivers. A file that is not named need not exist, now or later.
 *
 * @throws {ConfigError} when one has a mistake
 */
function openAlertFiles({ alerts, alertSmtp, dataDir }: Config<typeof settings>, logger: Logger) {
  const mail = alertSmtp === null ? null : mailServerOf(alertSmtp);
  return {
    rules: new EntriesFile<AlertRule>({
      file: alerts ?? join(dataDir, 'alerts.yml'),
      what: 'alert rules',
      isRequired: alerts !== null,
      parse: parseAlertRules,
      logger,
    }),
    receivers: new EntriesFile<Receiver>({
      file: join(dataDir, 'receivers.yml'),
      what: 'receivers of alerts',
      isRequired: false,
      parse: (text, file) => parseReceivers(text, file, mail),
      logger,
    }),
  };
}

/** Opens what waits for the centres of an earlier process; null without RELAY. @throws {ConfigError} */
function openRelay(
  config: Config<typeof settings>,
  store: Store,
  boards: Boards,
  logger: Logger,
): Relay | null {
  if (config.relay === null) return null;
  const directory = join(config.dataDir, 'relay', config.clientId);
  const name = config.boardName ?? hostname();
  return new Relay(config, { directory, store, id: boards.id, name, logger });
}

/** The receivers of messages about alerts that are settings. @throws {ConfigError} */
function fixedReceivers(config: Config<typeof settings>, broker: BrokerSource | null): readonly Receiver[] {
  const { alertTopic, alertWebhook, alertWebhookSecret: secret } = config;
  const found: Receiver[] = [];
  const add = (name: 'mqtt' | 'webhook', target: string, send: Receiver['send']) =>
    void found.push({ name, kind: name, target, version: 'setting', send });
  if (alertTopic !== null && broker !== null)
    add('mqtt', alertTopic, mqttNotices(broker.session, alertTopic));
  if (alertWebhook !== null)
    add('webhook', new URL(alertWebhook).host, webhook({ url: alertWebhook, secret }));
  return found;
}

/**
 * Opens the ledger of sequence numbers of an earlier process. After a power cut it is compared with the store, as soon as
 * the store answers.
 *
 * @throws {ConfigError} when its file cannot be read or written
 */
async function openLedger(
  config: Config<typeof settings>,
  store: Store,
  { routes }: Router,
  logger: Logger,
): Promise<{ readonly ledgerFile: LedgerFile; readonly ledgerCheck: LedgerCheck | null }> {
  const path = join(config.dataDir, `${config.clientId}.ledger`);
  const own = logger.child({ component: 'ledger' });
  const ledgerFile = new LedgerFile(path, own);
  try {
    const hasFilters = routes.some(({ filter }) => filter !== null);
    return { ledgerFile, ledgerCheck: await recoverLedger(ledgerFile, store, hasFilters, own) };
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError([`the ledger ${path} cannot be opened: ${reason}: check DATA_DIR`]);
  }
}

function openSpool(config: Config<typeof settings>, logger: Logger): Spool | null {
  if (config.spoolMaxBytes === 0) return null;
  const directory = join(config.spoolDir ?? join(config.dataDir, 'spool'), config.clientId);
  return new Spool(directory, config.spoolMaxBytes, logger.child({ component: 'spool' }));
}

/**
 * Stops reading, and stores and acknowledges received messages within the time limit. The broker or the sensors keep the
 * rest. Rollups and retention may wait for the store meanwhile: what they leave is done after the next start.
 */
async function drain(
  pipeline: Pipeline,
  sources: readonly MessageSource[],
  background: Promise<unknown>,
  stopTimeout: number,
): Promise<void> {
  for (const source of sources) source.stopAccepting();
  pipeline.stop();
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, (1 - CLOSING_SHARE) * stopTimeout * 1000);
  await Promise.race([pipeline.idle(), late.promise]);
  pipeline.abort();
  await Promise.all(sources.map((source) => source.close()));
  await Promise.race([background, late.promise]);
  clearTimeout(timer);
}
