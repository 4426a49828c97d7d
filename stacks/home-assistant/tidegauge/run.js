// Runs Tidegauge as an add-on of Home Assistant.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startProxy } from './proxy.js';
import { brokerOf, variablesFrom } from './settings.js';

/** `ingress_port` in config.yaml. */
const INGRESS_PORT = 8099;
const API_PORT = 8080;
/** The route of ingest without a file of routes, which such a file replaces. */
const DEFAULT_ROUTE = '- topic: sensors/{device+}/{metric}\n';

const {
  SUPERVISOR_TOKEN = '',
  SUPERVISOR = 'http://supervisor',
  ADDON_DATA = '/data',
  ADDON_USER,
} = process.env;
const directory = join(ADDON_DATA, 'tidegauge');

async function prepare() {
  const options = JSON.parse(readFileSync(join(ADDON_DATA, 'options.json'), 'utf8'));
  const found = options.broker ? null : await brokerOf(SUPERVISOR, SUPERVISOR_TOKEN);
  const variables = variablesFrom(options, found);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  await addRoutes(options.presets);
  if (ADDON_USER !== undefined) {
    // Also what Home Assistant has restored from a backup.
    execFileSync('chown', ['-R', `${ADDON_USER}:${ADDON_USER}`, directory]);
    process.setgroups([]);
    process.setgid(Number(ADDON_USER));
    process.setuid(Number(ADDON_USER));
  }
  return variables;
}

async function addRoutes(presets) {
  if (presets.length === 0) return;
  const { appendEntry } = await import(partOf('packages/yaml-file/src/index.js'));
  const file = join(directory, 'routes.yml');
  let routes = existsSync(file) ? readFileSync(file, 'utf8') : DEFAULT_ROUTE;
  for (const preset of presets) routes = appendEntry(routes, file, { preset }) ?? routes;
  writeFileSync(`${file}.new`, routes, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The URL of a file of the npm package. */
function partOf(file) {
  return new URL(`package/${file}`, import.meta.url).href;
}

try {
  const { HTTP_PORT = API_PORT, INGRESS = INGRESS_PORT } = process.env;
  Object.assign(process.env, await prepare(), { DATA: directory, HTTP_PORT });
  const proxy = await startProxy(Number(INGRESS), Number(HTTP_PORT));
  const { tidegauge } = await import(partOf('apps/tidegauge/src/main.js'));
  process.exitCode = await tidegauge(['start']);
  proxy.close();
  proxy.closeAllConnections();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
