import { MqttSessionError } from '@tidegauge/mqtt-session';
import {
  type Config,
  ConfigError,
  checkAccess,
  createLogger,
  listen,
  Metrics,
  openAccess,
  type Running,
} from '@tidegauge/service';
import { HOLD } from './ack-demand.ts';
import { measureAlerts } from './alerts/measure.ts';
import { createApp } from './app.ts';
import { brokerOf } from './broker-source.ts';
import { measureDirect } from './direct/measure.ts';
import { keepHeapSmall } from './heap.ts';
import { measure, measureRollups } from './measure.ts';
import { mqttAddresses } from './mqtt-addresses.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';
import { registerWithSite } from './register-with-site.ts';
import { measureRelay } from './relay/measure.ts';
import { measureResend } from './resend/measure.ts';
import { startResending } from './resend/start-resending.ts';
import { checkLimits } from './retention/limits.ts';
import { measureRetention } from './retention/measure.ts';
import { RouteReloader } from './route-reloader.ts';
import type { settings } from './settings.ts';
import { type Alerting, openAlerts } from './start/alerting.ts';
import { checkShared, type Files, readFiles } from './start/files.ts';
import { openSources, type Sources } from './start/sources.ts';
import type { Start } from './start/start.ts';
import { backendOf, openState, type State, startRetention } from './start/state.ts';
import { reportTopicLevels } from './topic-levels.ts';

/** The share of STOP_TIMEOUT that is reserved for closing the session, HTTP, the spool and the store. */
const CLOSING_SHARE = 0.25;
/** Most readings in one write. It bounds the memory and the time of a write. */
const MAX_BATCH = 5000;
/** Least time between two writes under load, unless `PACE` has another. */
const PACE_MS = 3;

type OnStored = NonNullable<PipelineOptions['onStored']>;

/** All parts of ingest. */
interface Parts extends Omit<Files, 'alertFiles'>, State, Alerting {
  readonly sources: Sources;
  /** What is shown of the sources. */
  readonly mqtt: ReturnType<typeof mqttOf>;
  readonly pipeline: Pipeline;
  readonly reloader: RouteReloader;
  readonly resending: ReturnType<typeof startResending>;
}

/**
 * Starts ingest. Resolves when it takes readings: HTTP listens, and the broker session is connected and subscribed. While
 * the store or the broker is unavailable it retries, and `/readyz` reports it.
 */
export async function startIngest(config: Config<typeof settings>, signal: AbortSignal): Promise<Running> {
  checkAccess(loginOf(config));
  const broken = Promise.withResolvers<never>();
  // The promise may reject before a caller waits for it.
  broken.promise.catch(() => {});
  const logger = createLogger('ingest', config.logLevel);
  const metrics = new Metrics(config.boardName);
  const start: Start = { config, logger, metrics, undo: [], onBroken: broken.reject };
  const stop = async () => {
    for (const step of start.undo.splice(0).reverse()) await step();
  };
  const files = readFiles(start);
  try {
    const state = await openState(start, files);
    const sources = openSources(start, files);
    const onStored: OnStored = (readings) => alerting.alerts.push(readings);
    const pipeline = openPipeline(start, files, state, sources, onStored);
    const alerting = openAlerts(start, files, state, sources, pipeline);
    const reloader = openReloader(start, files, sources);
    const resending = startResending(config, { pipeline, router: files.router, ...sources });
    start.undo.push(() => resending?.stop());
    const mqtt = mqttOf(config, sources);
    const parts: Parts = { ...files, ...state, ...alerting, sources, mqtt, pipeline, reloader, resending };
    measureAll(start, parts);
    const http = await openHttp(start, parts);
    start.undo.push(() => alerting.alerts.stop());
    start.undo.push(() => drain(config, parts));
    if (state.store.trouble === null) await useStore(start, parts);
    else state.store.opened.then(() => useStore(start, parts)).catch(broken.reject);
    start.undo.push(watchRoutes(reloader));
    keepHeapSmall();
    state.relay?.start();
    for (const source of sources.all) await source.start(pipeline, signal);
    if (!alerting.alertFiles.rules.exists && alerting.alerts.channels.length > 0)
      logger.warn('there are no alert rules: they are used as soon as their file exists');
    const from = { broker: brokerOf(config) ?? undefined, listen: config.listen ?? undefined };
    logger.info({ store: backendOf(start), http: http.url, ...from }, 'ingest is ready');
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

function loginOf(config: Config<typeof settings>) {
  return { ...config, token: config.httpToken, variable: 'HTTP_TOKEN' };
}

function openPipeline(
  { config, logger, onBroken }: Start,
  { router }: Files,
  { store, quarantine, spool, ledgerFile, clocksFile, relay }: State,
  { broker, all }: Sources,
  onStored: OnStored,
): Pipeline {
  const { pace, maxInFlight, maxInFlightBytes } = config;
  const register = (names: readonly string[]) => registerWithSite(store.devices, names);
  return new Pipeline({
    ...{ store, router, quarantine, spool, logger, maxInFlight, maxInFlightBytes, onStored, onBroken },
    replica: config.shareGroup === null ? null : config.clientId,
    storeTrouble: () => store.trouble,
    sequences: ledgerFile.ledger,
    clocks: clocksFile.clocks,
    onSequences: (oldest, late) => ledgerFile.flush(oldest, late),
    ...(config.siteFromDevice ? { register } : {}),
    maxBatch: MAX_BATCH,
    ...(pace === 'auto' ? { paceMs: PACE_MS, hold: HOLD } : { paceMs: pace * 1000 }),
    onFull: (full) => {
      for (const source of all) full ? source.pause() : source.resume();
    },
    onReply: ({ topic, payload }) => void broker?.session.publish(topic, payload),
    ...(relay === null ? {} : { onCommitted: relay.append }),
  });
}

function openReloader({ config, logger }: Start, { router, routesFile }: Files, { all }: Sources) {
  return new RouteReloader({
    ...{ file: routesFile, ack: config.ack, router, logger },
    check: (routes) => checkShared(routes, config.shareGroup),
    subscribe: async (routes) => void (await Promise.all(all.map((source) => source.subscribe(routes)))),
  });
}

function measureAll(start: Start, parts: Parts): void {
  const { metrics } = start;
  const { pipeline, router, quarantine, sources, mqtt, reloader, alerts, alertFiles } = parts;
  measure(metrics, pipeline, router, quarantine, backendOf(start), mqtt, reloader);
  measureResend(metrics, parts.resending?.plan ?? null);
  measureDirect(metrics, sources.direct);
  measureRollups(metrics, parts.rollups);
  measureAlerts(metrics, alerts, alertFiles.rules);
  measureRetention(metrics, parts.retention, parts.keepRules);
  measureRelay(metrics, parts.relay, parts.boards);
}

function mqttOf(config: Config<typeof settings>, { broker, isConnected }: Sources) {
  const addresses = mqttAddresses(config);
  return () => ({ connected: isConnected(), reconnects: broker?.session.stats.reconnects ?? 0, addresses });
}

async function openHttp(start: Start, parts: Parts) {
  const { config, logger, metrics, undo } = start;
  const { pipeline, quarantine, router, reloader, alerts, alertFiles, sources } = parts;
  const { retention, keepRules: rules, limits, store, relay, boards, ledgerFile, ledgerCheck } = parts;
  const access = openAccess(loginOf(config), logger, metrics);
  undo.push(() => access.close());
  const app = createApp({
    ...{ pipeline, quarantine, router, metrics, logger, access, reloader, alerts, alertFiles, retention },
    instance: config.clientId,
    backend: backendOf(start),
    maxPayload: config.maxPayload,
    listen: config.httpListen,
    allowedHosts: config.allowedHosts ?? [],
    corsOrigins: config.corsOrigins ?? [],
    broker: parts.mqtt,
    checks: {
      ...Object.fromEntries(sources.all.map((source) => [source.name, () => source.trouble])),
      ingest: () => (pipeline.stopping ? 'ingest is stopping' : null),
      'the store': () => pipeline.trouble ?? store.health().then(() => null),
    },
    passwords: config.listen === null ? null : config.listenPasswords,
    retentionParts: { retention, rules, store, limits, everyMs: config.retentionEvery * 1000 },
    relay: { relay, boards, store },
    warnings: () =>
      [
        reloader.warning ?? [],
        alertFiles.rules.warning ?? [],
        alertFiles.receivers.warning ?? [],
        rules.warning ?? [],
        ledgerFile.trouble ?? ledgerCheck?.trouble ?? [],
      ].flat(),
  });
  const http = await listen(app, config.httpListen, config.metricsPort, 'METRICS_PORT (--metrics-port)');
  undo.push(() => http.close());
  return http;
}

/** Begins what needs the store. */
async function useStore({ config, logger }: Start, parts: Parts): Promise<void> {
  const { store, limits, levels, rollups, alerts, alertFiles } = parts;
  await checkLimits(store, limits);
  await reportTopicLevels(levels, config.dataDir, store, logger);
  rollups?.start();
  if (alertFiles.rules.exists) alerts.start();
  startRetention(parts);
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
 * Stops reading, and stores and acknowledges received messages within the time limit. The broker or the sensors keep the
 * rest. Rollups and retention may wait for the store meanwhile: what they leave is done after the next start.
 */
async function drain(
  { stopTimeout }: Config<typeof settings>,
  { pipeline, sources, rollups, retention }: Parts,
): Promise<void> {
  const background = Promise.all([rollups?.stop(), retention.stop()]);
  for (const source of sources.all) source.stopAccepting();
  pipeline.stop();
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, (1 - CLOSING_SHARE) * stopTimeout * 1000);
  await Promise.race([pipeline.idle(), late.promise]);
  pipeline.abort();
  await Promise.all(sources.all.map((source) => source.close()));
  await Promise.race([background, late.promise]);
  clearTimeout(timer);
}
