import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { compileInfluxNames } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { mailServerOf } from '../alerts/email.ts';
import { EntriesFile } from '../alerts/entries-file.ts';
import { parseReceivers, type Receiver } from '../alerts/receivers-file.ts';
import type { AlertRule } from '../alerts/rule.ts';
import { parseAlertRules } from '../alerts/rules-file.ts';
import { brokerOf } from '../broker-source.ts';
import { loadRules, RetentionRules } from '../retention/rules.ts';
import { type Route, Router } from '../routes.ts';
import { loadRoutes, routesFileOf } from '../routes-file.ts';
import { findTopicLevels } from '../topic-levels.ts';
import type { Start } from './start.ts';

export type Files = ReturnType<typeof readFiles>;

/**
 * Reads what people write: routes, rules of alerts and of retention. Nothing is created, so a mistake leaves nothing
 * behind.
 *
 * @throws {ConfigError} when a file has a mistake
 */
export function readFiles(start: Start) {
  const { config } = start;
  const routesFile = routesFileOf(config);
  const routes = openRoutes(start, routesFile);
  const levels = findTopicLevels(config.dataDir, config.topicLevels);
  const router = new Router(routes, {
    influxNames: compileInfluxNames(config.influxDevice, config.influxMetric),
    levels: levels.used,
    zone: config.timeZone,
  });
  const alertFiles = openAlertFiles(start);
  checkAlertTopic(start, router);
  const retentionFile = retentionFileOf(start);
  new RetentionRules(loadRules(retentionFile.file, retentionFile.isRequired), config.retention);
  return { routesFile, router, levels, alertFiles, retentionFile };
}

/** @throws {ConfigError} when the routes cannot be used */
function openRoutes({ config, logger }: Start, file: string): readonly Route[] {
  const { routes, warnings } = loadRoutes(file, config.ack, config.timeZone);
  for (const warning of warnings) logger.warn({ warning }, 'a route may be wrong');
  if (config.routes !== null && !existsSync(file))
    logger.warn({ file }, 'there is no routes file: the default route is used until it exists');
  checkShared(routes, config.shareGroup);
  return routes;
}

/**
 * A decoder with state must receive all messages of its topics, and the members of a share group receive a part each.
 *
 * @throws {ConfigError}
 */
export function checkShared(routes: readonly Route[], shareGroup: string | null): void {
  const route = routes.find(({ stateful }) => stateful !== null);
  if (route === undefined || shareGroup === null) return;
  throw new ConfigError([
    `SHARE_GROUP is ${shareGroup}, but the route ${route.name} reads ${route.format}, whose messages depend on each other: ` +
      'read its topics with one ingest process without SHARE_GROUP, and leave the route out here',
  ]);
}

/**
 * The files of alert rules and of receivers. A file that is not named need not exist, now or later.
 *
 * @throws {ConfigError} when one has a mistake
 */
function openAlertFiles({ config: { alerts, alertSmtp, dataDir }, logger }: Start) {
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

/**
 * Refuses a topic that ingest would receive itself.
 *
 * @throws {ConfigError}
 */
function checkAlertTopic({ config }: Start, router: Router): void {
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

/** The file of retention rules. One that is not named need not exist. */
function retentionFileOf({ config: { retentionRules, dataDir } }: Start) {
  return { file: retentionRules ?? join(dataDir, 'retention.yml'), isRequired: retentionRules !== null };
}
