import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DecodeError, formatTime, presets, presetTopic } from '@tidegauge/readings';
import {
  autoResult,
  brief,
  type Decoded,
  decodeMessage,
  RECEIVED,
} from '../packages/readings/test/senders/decode-message.ts';
import { senderMessages } from '../packages/readings/test/senders/index.ts';
import type { SenderMessage } from '../packages/readings/test/senders/sender-message.ts';
import { ROOT } from './setup.js';

const FOLDER = join(ROOT, 'docs', 'senders');
/** The most examples of a page, the shortest and the longest, and readings of an example. */
const EXAMPLES = 2;
const READINGS = 8;

/** The pages of the senders and their table. */
export const SENDER_PAGES = globSync('*.md', { cwd: FOLDER }).map((file) => join(FOLDER, file));

/** A page with its generated parts, between markers, as the test messages have them. */
export function senderPage(file: string): string {
  const page = readFileSync(file, 'utf8');
  const preset = basename(file, '.md');
  if (preset === 'README') {
    return replacePart(replacePart(page, 'senders', presetTable()), 'general', generalTable());
  }
  return replacePart(page, 'examples', `${topics(preset)}\n\n${examples(preset)}`);
}

/** Writes the pages. */
export function writeSenderPages(): void {
  for (const file of SENDER_PAGES) writeFileSync(file, senderPage(file));
}

function replacePart(page: string, part: string, text: string): string {
  const section = new RegExp(`<!-- ${part} -->\n[\\s\\S]*<!-- /${part} -->`);
  if (!section.test(page)) throw new Error(`there is no part <!-- ${part} --> in a page of docs/senders`);
  return page.replace(section, () => `<!-- ${part} -->\n${text}\n<!-- /${part} -->`);
}

/** The topics that a preset stores. */
function topics(name: string): string {
  const preset = presets[name];
  if (preset === undefined) throw new Error(`docs/senders/${name}.md is a page of no preset`);
  const stored = preset.routes.filter(({ mapping }) => mapping !== 'ignore');
  const list = stored.map(({ topic }) => `- \`${presetTopic(preset.base, topic)}\``).join('\n');
  return `## Topics\n\nThese topics are stored:\n\n${list}`;
}

function examples(name: string): string {
  const own = senderMessages.filter(({ preset, readings }) => preset === name && readings.length > 0);
  const shown = own.sort((a, b) => a.payload.length - b.payload.length);
  // Short examples are often a single value, so the longest one that fits on a screen is shown too.
  const chosen = [...new Set([...shown.slice(0, EXAMPLES - 1), ...shown.filter(isReadable).slice(-1)])];
  return `## Examples\n\nReceived at ${formatTime(RECEIVED).replace('.000000', '')}.\n\n${chosen.map(example).join('\n\n')}`;
}

function isReadable({ payload }: SenderMessage): boolean {
  return payload.length <= 1500;
}

/** A message, its source, and its readings. */
function example(message: SenderMessage): string {
  const decoded = decodeMessage(message);
  const readings = decoded.readings instanceof DecodeError ? [] : brief(decoded.readings);
  const lines = readings.slice(0, READINGS).map(([device, metric, value, time]) => {
    const unit = decoded.units[metric];
    const at = time === formatTime(RECEIVED) ? '' : ` at ${time.replace('.000000', '')}`;
    return `→ ${device} ${metric} ${JSON.stringify(value)}${unit === undefined ? '' : ` ${unit}`}${at}`;
  });
  if (readings.length > READINGS) lines.push(`→ and ${readings.length - READINGS} more`);
  const block = [message.topic, ...message.payload.split('\n'), ...lines].map((line) =>
    `    ${line}`.trimEnd(),
  );
  return `From ${message.source}:\n\n${block.join('\n')}`;
}

interface Tested {
  readonly message: SenderMessage;
  readonly decoded: Decoded;
}

function presetTable(): string {
  const tested = senderMessages.map((message) => ({ message, decoded: decodeMessage(message) }));
  const rows = Object.values(presets)
    .sort((a, b) => (a.title.toLowerCase() < b.title.toLowerCase() ? -1 : 1))
    .map(({ name, title }) => {
      const page = existsSync(join(FOLDER, `${name}.md`)) ? `[${title}](${name}.md)` : title;
      const own = tested.filter(({ message }) => message.preset === name);
      return [page, `\`${name}\``, String(own.length), ...autoCounts(own)];
    });
  rows.push(['all', '', String(tested.length), ...autoCounts(tested)]);
  return table(['sender', 'preset', 'messages tested', 'auto: same', 'auto: values', 'auto: no'], rows);
}

/** The number of messages with readings, by what `auto` makes of them. */
function autoCounts(tested: readonly Tested[]): readonly string[] {
  const results = tested
    .filter(({ message }) => message.readings.length > 0)
    .map(({ message, decoded }) => autoResult(message, decoded));
  return ['same', 'values', 'no'].map((result) => String(results.filter((each) => each === result).length));
}

function generalTable(): string {
  const rows = senderMessages
    .filter(({ preset }) => preset === undefined)
    .map((message) => {
      const mapping = message.mapping === undefined ? '' : `\`${JSON.stringify(message.mapping)}\``;
      const auto = message.readings.length === 0 ? '' : autoResult(message, decodeMessage(message));
      return [message.sender ?? 'Zigbee2MQTT (attributes)', `\`${message.template}\``, mapping, auto];
    });
  const unique = [...new Set(rows.map((row) => JSON.stringify(row)))].map(
    (row) => JSON.parse(row) as string[],
  );
  return table(['sender', 'topic', 'mapping', 'auto'], unique);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
