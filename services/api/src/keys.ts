import { deviceNameProblem } from '@tidegauge/readings';
import {
  type ApiKey,
  addKey,
  isName,
  keyIdOf,
  readKeys,
  revokeKey,
  SCOPES,
  stateOf,
} from '@tidegauge/service';
import {
  ConfigError,
  checkedText,
  defineCommand,
  defineConfig,
  duration,
  EXIT,
  type Kind,
  list,
  oneOf,
  run,
  text,
} from '@tidegauge/service/program';

const YEAR_SECONDS = 365 * 24 * 3600;

const NO_ADMIN =
  'warning: no key has the scope admin, so only API_TOKEN, where it is set, allows all changes now: ' +
  'tidegauge keys create NAME --scopes admin makes a key for them';

const common = defineConfig({
  apiKeys: {
    kind: text('a file name'),
    default: './data/keys.json',
    help: 'The file of keys. Services with the same API_KEYS use it.',
  },
});

const device = checkedText('the name of a device', 'DEVICE', deviceNameProblem);

const keyName: Kind<string> = {
  takes: 'a text of 1 to 100 characters',
  parse(value) {
    if (!isName(value)) throw new Error('it is empty, too long, or has control characters');
    return value;
  },
};

const create = defineCommand({
  name: 'tidegauge keys create',
  summary: 'Makes a key and prints it, only this once. The file has its digest only.',
  examples: [
    'tidegauge keys create grafana --scopes read',
    'tidegauge keys create site-3-gateway --scopes write --devices site-3 --expires 365d',
  ],
  configuredBy: 'environment',
  settings: {
    ...common,
    name: { kind: keyName, positional: true, required: true, help: 'What the key is for.' },
    scopes: {
      kind: list(oneOf(SCOPES)),
      default: 'read',
      help: 'What it may do. admin includes read and write; write does not include read.',
    },
    devices: { kind: device, help: 'The only device that it may use, with all devices below it.' },
    expires: {
      kind: duration(60, 20 * YEAR_SECONDS),
      help: 'How long it is valid. Default: until it is revoked.',
    },
  },
  run({ apiKeys, name, scopes, devices, expires }) {
    const now = Date.now();
    const fields = {
      name,
      scopes: [...new Set(scopes)],
      devices,
      expires: expires === null ? null : new Date(now + expires * 1000).toISOString(),
    };
    const { text: secret, key } = addKey(apiKeys, fields, now);
    process.stderr.write(`Key ${key.id} for ${name}. It is not stored and cannot be printed again:\n`);
    process.stdout.write(`${secret}\n`);
    const isAdmin = (each: ApiKey) => each.scopes.includes('admin') && stateOf(each, now) === 'valid';
    if (readKeys(apiKeys)?.keys.some(isAdmin) !== true) process.stderr.write(`${NO_ADMIN}\n`);
    return EXIT.OK;
  },
});

const show = defineCommand({
  name: 'tidegauge keys list',
  summary: 'Prints all keys, without their secrets.',
  configuredBy: 'environment',
  settings: common,
  run({ apiKeys }) {
    const keys = readKeys(apiKeys)?.keys ?? [];
    const now = Date.now();
    const rows = keys.map((key) => [
      key.id,
      stateOf(key, now),
      key.scopes.join(','),
      key.devices ?? 'all devices',
      key.expires === null ? 'no expiry' : `until ${key.expires.slice(0, 16)}Z`,
      key.name,
    ]);
    const widths = [0, 1, 2, 3, 4].map((column) => Math.max(0, ...rows.map((row) => row[column]!.length)));
    for (const row of rows) {
      process.stdout.write(`${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`);
    }
    if (rows.length === 0) process.stderr.write(`There are no keys in ${apiKeys}.\n`);
    return EXIT.OK;
  },
});

const revoke = defineCommand({
  name: 'tidegauge keys revoke',
  summary:
    'Ends a key. Services refuse it within a second or two, and end its live streams within 15 seconds.',
  examples: ['tidegauge keys revoke 3f9c0a7b21'],
  configuredBy: 'environment',
  settings: {
    ...common,
    key: {
      kind: text('an id or a name'),
      positional: true,
      required: true,
      help: 'The id of the key, or its name if only one valid key has it.',
    },
  },
  run({ apiKeys, key: wanted }) {
    revokeKey(apiKeys, (keys) => select(keys, wanted), Date.now());
    process.stderr.write(`Key ${keyIdOf(wanted) ?? wanted} was revoked\n`);
    return EXIT.OK;
  },
});

/** @throws {ConfigError} when no key or several keys are meant */
function select(keys: readonly ApiKey[], wanted: string): ApiKey {
  // The text of a key is accepted, but must not be printed.
  const id = keyIdOf(wanted) ?? wanted;
  const found = keys.find((key) => key.id === id);
  if (found !== undefined) return found;
  const now = Date.now();
  const named = keys.filter((key) => key.name === wanted && stateOf(key, now) === 'valid');
  if (named.length === 1) return named[0]!;
  const why = named.length === 0 ? `there is no key ${id}` : `${named.length} keys have the name ${wanted}`;
  throw new ConfigError([`${why}: tidegauge keys list prints the ids`]);
}

export const program = {
  name: 'tidegauge keys',
  summary: 'Makes, lists and revokes keys of the HTTP API.',
  commands: { create, list: show, revoke },
};

if (import.meta.main) process.exitCode = await run(program);
