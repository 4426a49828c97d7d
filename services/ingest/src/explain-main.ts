import { readFileSync } from 'node:fs';
import { now } from '@tidegauge/readings';
import { BROKER_SETTINGS } from '@tidegauge/service';
import {
  ConfigError,
  defineCommand,
  defineConfig,
  EXIT,
  integer,
  run,
  text,
} from '@tidegauge/service/program';
import { readBounded } from '@tidegauge/yaml-file';
import { explain } from './explain.ts';
import { printExplanation } from './explain-text.ts';
import { follow } from './follow.ts';
import { Router } from './routes.ts';
import { parseRoutes, readRoutesText } from './routes-file.ts';
import { BROKER_CERTIFICATE_SETTINGS, TIME_SETTINGS, TOPIC_LEVELS_SETTING } from './settings.ts';

/** The file that ingest uses by default. */
const ROUTES_FILE = './data/routes.yml';

const settings = defineConfig({
  topic: { kind: text('a topic'), help: 'The MQTT topic of the message.' },
  payload: { kind: text(), help: 'Its payload. Without it the payload is read from standard input.' },
  routes: {
    kind: text('a file name'),
    help: `The routes file. Default: ${ROUTES_FILE}, and without it the default route, sensors/{device+}/{metric}.`,
  },
  topicLevels: { ...TOPIC_LEVELS_SETTING, default: 'keep', help: 'TOPIC_LEVELS of ingest: keep or drop.' },
  ...TIME_SETTINGS,
  follow: {
    kind: text('a topic filter'),
    help: 'Explain the messages of the broker as they arrive, until Ctrl+C.',
  },
  count: { kind: integer(1, 1_000_000_000), help: 'With --follow: end after this number of messages.' },
  ...BROKER_SETTINGS,
  ...BROKER_CERTIFICATE_SETTINGS,
});

export const program = defineCommand({
  name: 'tidegauge explain',
  summary:
    'Prints what becomes of a message: its route, readings, units and ignored fields, or the reason and a fix.',
  examples: [
    "tidegauge explain --topic sensors/boiler/temperature --payload '21.5 °C'",
    'tidegauge explain --routes routes.yml --topic tele/attic/SENSOR < message.json',
    "tidegauge explain --routes routes.yml --follow 'tele/#' --count 20",
  ],
  settings,
  async run(config, signal) {
    const { topic, payload, routes, topicLevels, timeZone, follow: filter, count } = config;
    checkUse(topic, payload, filter, count);
    // Here a file that does not exist is a mistake in its name.
    const content = routes === null ? readRoutesText(ROUTES_FILE) : readBounded(routes);
    const { routes: list } = parseRoutes(content, routes ?? ROUTES_FILE, 'durable', timeZone);
    const router = new Router(list, { levels: topicLevels, zone: timeZone });
    if (filter !== null) {
      const say = (line: string) => void process.stderr.write(`${line}\n`);
      await follow({ ...config, filter, count, router, output: process.stdout, say }, signal);
      return EXIT.OK;
    }
    const bytes = payload === null ? readFileSync(0) : Buffer.from(payload);
    const found = explain(router, topic!, bytes, now());
    process.stdout.write(printExplanation(found));
    return found.error === undefined ? EXIT.OK : EXIT.FAILED;
  },
});

/** @throws {ConfigError} when the options do not belong together */
function checkUse(
  topic: string | null,
  payload: string | null,
  filter: string | null,
  count: number | null,
): void {
  if (topic === null && filter === null) {
    throw new ConfigError([
      '--topic is missing: give the topic of a message, or --follow FILTER for a broker',
    ]);
  }
  if (filter === null) {
    if (count !== null) throw new ConfigError(['--count needs --follow: it ends after so many messages']);
    return;
  }
  const other = topic !== null ? '--topic' : payload !== null ? '--payload' : null;
  if (other !== null)
    throw new ConfigError([
      `${other} and --follow exclude each other: --follow reads messages of the broker`,
    ]);
}

if (import.meta.main) process.exitCode = await run(program);
