import type { QuarantineDocument } from '@tidegauge/readings';
import {
  boolean,
  ConfigError,
  defineCommand,
  defineConfig,
  EXIT,
  integer,
  type Kind,
  oneOf,
  run,
  text,
  url,
} from '@tidegauge/service/program';
import { counted } from '@tidegauge/text';
import { QUARANTINE_REASONS } from '../quarantine-reasons.ts';
import { change, type Outcome } from './change.ts';
import { QuarantineClient } from './client.ts';
import { isSelected } from './select.ts';

const topicFilter: Kind<string> = {
  takes: 'an MQTT topic filter, with # at its end only',
  placeholder: 'FILTER',
  parse(value) {
    const isFilter = value.split('/').every((level, index, all) => {
      return level === '#' ? index === all.length - 1 : level === '+' || !/[+#\0]/.test(level);
    });
    if (value === '' || !isFilter) throw new Error('it is no topic filter');
    return value;
  },
};

const target = defineConfig({
  ingest: { kind: url('http', 'https'), default: 'http://127.0.0.1:9464', help: 'Where ingest listens.' },
  ingestToken: {
    kind: text(),
    secret: true,
    help: 'The HTTP_TOKEN of ingest, or a key of its API_KEYS.',
  },
});
const filters = defineConfig({
  reason: { kind: oneOf(QUARANTINE_REASONS), help: 'Only messages with this reason.' },
  topic: { kind: topicFilter, help: 'Only messages of these topics: sensors/+/level.' },
  device: { kind: text('the name of a device'), help: 'Only messages whose topic contains this name.' },
});
const json = { kind: boolean(), default: 'false', help: 'Prints JSON.' } as const;
const all = { kind: boolean(), default: 'false', help: 'All messages.' } as const;
const id = { kind: text('an id'), positional: true, help: 'The id of a message, from list.' } as const;

const list = defineCommand({
  name: 'list',
  summary: 'Lists messages, the newest first.',
  examples: ['tidegauge quarantine list --reason malformed --limit 20'],
  settings: {
    ...target,
    ...filters,
    limit: { kind: integer(1, 1_000_000), default: '100', help: 'Messages that are printed at most.' },
    after: {
      kind: integer(1, Number.MAX_SAFE_INTEGER),
      help: 'Continues after this message of an earlier list.',
    },
    json,
  },
  async run({ ingest, ingestToken, reason, topic, device, limit, after, json }) {
    const client = new QuarantineClient(ingest, ingestToken);
    const filter = { reason, topic, device };
    const found: QuarantineDocument[] = [];
    let next: string | null = null;
    for await (const item of client.items(reason, after === null ? null : String(after))) {
      if (!isSelected(filter, item)) continue;
      if (found.length === limit) {
        next = numberOf(found.at(-1)!);
        break;
      }
      found.push(item);
      if (!json) process.stdout.write(`${lineOf(item)}\n`);
    }
    if (json) process.stdout.write(`${JSON.stringify({ items: found, next })}\n`);
    else if (next !== null) process.stdout.write(`more: --after ${next}\n`);
    else if (found.length === 0) process.stdout.write('no message is in quarantine that matches\n');
    return EXIT.OK;
  },
});

const show = defineCommand({
  name: 'show',
  summary: 'Prints one message with its payload.',
  examples: ['tidegauge quarantine show tidegauge-ingest.17'],
  settings: { ...target, id: { ...id, required: true }, json },
  async run({ ingest, ingestToken, id, json }) {
    const item = await new QuarantineClient(ingest, ingestToken).item(id);
    process.stdout.write(json ? `${JSON.stringify(item)}\n` : textOf(item));
    return EXIT.OK;
  },
});

/** The command for a change of one message, or of all that match. */
function changing(action: 'replay' | 'discard', summary: string, details: string) {
  return defineCommand({
    name: action,
    summary,
    details,
    examples: [
      `tidegauge quarantine ${action} tidegauge-ingest.17`,
      `tidegauge quarantine ${action} --topic 'sensors/site-1/#'`,
    ],
    settings: {
      ...target,
      id,
      ...filters,
      all,
      json,
    },
    async run({ ingest, ingestToken, id, reason, topic, device, all, json }, signal) {
      const isFiltered = reason !== null || topic !== null || device !== null;
      const ways = [id !== null, isFiltered, all].filter(Boolean).length;
      if (ways !== 1)
        throw new ConfigError([
          'select messages in one way: an id, --reason, --topic and --device, or --all',
        ]);
      const client = new QuarantineClient(ingest, ingestToken);
      const outcome = await change(client, action, id ?? { reason, topic, device }, signal);
      process.stdout.write(json ? `${JSON.stringify(outcome)}\n` : summaryOf(action, outcome));
      return outcome.problem === null && outcome.tried === outcome.removed ? EXIT.OK : EXIT.FAILED;
    },
  });
}

export const program = {
  name: 'tidegauge quarantine',
  summary: 'Lists, shows, replays and discards messages that ingest could not store.',
  details:
    'It calls a running ingest process, so that messages can arrive meanwhile. With replicas, call each of them.',
  examples: ['tidegauge quarantine list', 'tidegauge quarantine replay --reason unknown_topic'],
  commands: {
    list,
    show,
    replay: changing(
      'replay',
      'Sends messages through their routes again, for example after a route was added.',
      'A message is removed when the store has acknowledged its readings. Messages that still cannot be stored stay, and it ends with 1.\nA reading that was corrected meanwhile is not replaced.',
    ),
    discard: changing('discard', 'Deletes messages from the quarantine.', 'Their readings are lost.'),
  },
};

function numberOf({ id }: QuarantineDocument): string {
  return id.slice(id.lastIndexOf('.') + 1);
}

/** Control characters would change a terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
}

function lineOf({ id, received, reason, topic, detail, size }: QuarantineDocument): string {
  return printable(`${id}  ${received}  ${reason}  ${topic}  ${size} bytes  ${detail}`);
}

function textOf({ payload = '', ...item }: QuarantineDocument): string {
  const bytes = Buffer.from(payload, 'base64');
  const text = bytes.toString('utf8');
  const isText = Buffer.from(text).equals(bytes);
  const lines = Object.entries(item).map(([name, value]) => `${name}: ${printable(String(value))}`);
  lines.push(isText ? `payload: ${printable(text)}` : `payload (base64): ${payload}`);
  return `${lines.join('\n')}\n`;
}

function summaryOf(
  action: 'replay' | 'discard',
  { tried, removed, stored, duplicate, problem }: Outcome,
): string {
  if (tried === 0 && problem !== null) return `stopped: ${problem}\n`;
  const lines =
    action === 'discard'
      ? [`${counted(removed, 'message')} discarded`]
      : [
          `${removed} of ${counted(tried, 'message')} replayed: ${counted(stored, 'reading')} stored, ${duplicate} were stored before`,
        ];
  if (action === 'replay' && tried > removed)
    lines.push(`${counted(tried - removed, 'message')} still cannot be stored: kept in quarantine`);
  if (problem !== null) lines.push(`stopped: ${problem}`);
  return `${lines.join('\n')}\n`;
}

if (import.meta.main) process.exitCode = await run(program);
