import { isTable } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { type Mistake, unknownKeys, YamlFile } from '@tidegauge/yaml-file';
import type { Notice, Send } from './channel.ts';
import { deliver, withoutLogin } from './deliver.ts';
import { email, type MailServer, mailServerOf } from './email.ts';
import { noticeText } from './notice-text.ts';
import { webhook } from './webhook.ts';

/** Receivers of a file. Each has a queue of about 1 MiB. */
const MOST_RECEIVERS = 10;
const MOST_CHARACTERS = 1000;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** Receivers that are settings of ingest have these names. */
const RESERVED = new Set(['mqtt', 'webhook']);

/** A receiver of messages about alerts. */
export interface Receiver {
  readonly name: string;
  readonly kind: string;
  /** Where it is, without secrets. */
  readonly target: string;
  /** Differs when another entry has the same name. */
  readonly version: string;
  readonly send: Send;
}

/** The texts of an entry besides `name` and `kind`. A key that is left out is undefined. */
type Texts = Readonly<Record<string, string | undefined>>;

interface Kind {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** Where it is, without secrets. */
  readonly target: (texts: Texts) => string;
  /**
   * @param mail the mail server of the settings, or null
   * @throws {ConfigError}
   */
  readonly open: (texts: Texts, mail: MailServer | null) => Send;
}

const KINDS: Readonly<Record<string, Kind>> = {
  // docs.ntfy.sh/publish/#publish-as-json
  ntfy: {
    required: ['url'],
    optional: ['token'],
    target: ({ url }) => new URL(url!).host,
    open({ url, token }) {
      const { url: href, login } = withoutLogin(url!);
      const [, server, topic] = /^(.*\/)([^/?#]+)\/?$/.exec(href) ?? [];
      if (server === undefined || topic === undefined || new URL(href).pathname === '/')
        throw new ConfigError(['url has no topic: write it as https://ntfy.sh/topic']);
      const name = decodeURIComponent(topic);
      return (notice, signal) => {
        const { title, text } = noticeText(notice);
        const isCritical = notice.event === 'raised' && notice.alert.severity === 'critical';
        const priority = isCritical ? 5 : notice.alert.severity === 'info' ? 2 : 3;
        const tags = [notice.event === 'raised' ? 'warning' : 'white_check_mark'];
        const body = { topic: name, title, message: text, priority, tags };
        return post('ntfy', server, { ...login, ...bearer(token) }, body, signal);
      };
    },
  },
  // core.telegram.org/bots/api#sendmessage
  telegram: {
    required: ['token', 'chat'],
    optional: ['url'],
    target: ({ chat }) => `chat ${chat}`,
    open({ token, chat, url = 'https://api.telegram.org' }) {
      if (!/^\d+:[\w-]+$/.test(token!))
        throw new ConfigError(['token is not that of a bot: it has digits, a colon, letters and digits']);
      const href = `${url.replace(/\/$/, '')}/bot${token}/sendMessage`;
      return (notice, signal) => post('Telegram', href, {}, { chat_id: chat, text: linesOf(notice) }, signal);
    },
  },
  // spec.matrix.org/v1.11/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid
  matrix: {
    required: ['url', 'token', 'room'],
    optional: [],
    target: ({ url, room }) => `${room} at ${new URL(url!).host}`,
    open({ url, token, room }) {
      const base = `${url!.replace(/\/$/, '')}/_matrix/client/v3/rooms/${encodeURIComponent(room!)}`;
      return (notice, signal) => {
        // The server ignores a message with an identifier that it has.
        const id = encodeURIComponent(`${notice.alert.id}.${notice.event}`);
        const headers = { 'Content-Type': 'application/json', ...bearer(token) };
        const body = JSON.stringify({ msgtype: 'm.text', body: linesOf(notice) });
        const request = { method: 'PUT', url: `${base}/send/m.room.message/${id}`, headers, body } as const;
        return deliver('Matrix', request, signal);
      };
    },
  },
  // api.slack.com/messaging/webhooks. Mattermost and Rocket.Chat accept the same.
  slack: {
    required: ['url'],
    optional: [],
    target: ({ url }) => new URL(url!).host,
    open: ({ url }) => {
      const target = withoutLogin(url!);
      // The three characters that Slack reads as markup of links and names.
      const escaped = (text: string) =>
        text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
      return (notice, signal) =>
        post('Slack', target.url, target.login, { text: escaped(linesOf(notice)) }, signal);
    },
  },
  email: {
    required: ['to'],
    optional: ['from', 'server', 'user', 'password'],
    target: ({ to }) => to!,
    open({ to, from, server: url, user, password }, mail) {
      // The login of the settings is for the server of the settings only.
      if (url === undefined && (user !== undefined || password !== undefined))
        throw new ConfigError(['user and password are of the mail server: add server']);
      const server = url === undefined ? mail : mailServerOf(url, user, password);
      if (server === null) throw new ConfigError(['email needs server, or a mail server in ALERT_SMTP']);
      return email({ server, to: to!, from: from ?? server.login?.user ?? '' });
    },
  },
  webhook: {
    required: ['url'],
    optional: ['secret'],
    target: ({ url }) => new URL(url!).host,
    open: ({ url, secret }) => webhook({ url: url!, secret: secret ?? null }),
  },
};
const KIND_NAMES = Object.keys(KINDS);

/**
 * The receivers of the text of a file, YAML or JSON: a list, each with a name and a kind.
 *
 * @param name the name of the file in errors
 * @param mail the mail server of receivers that name none, or null
 * @throws {ConfigError} with one line per mistake: file, line, column, key and reason. It has no values, which can be
 *   secrets
 */
export function parseReceivers(
  text: string,
  name: string,
  mail: MailServer | null = null,
): readonly Receiver[] {
  const file = YamlFile.parse(text, name);
  const mistakes: Mistake[] = [];
  const receivers: Receiver[] = [];
  const list = file.data ?? [];
  if (!Array.isArray(list)) {
    throw file.error([{ path: [], message: 'it must be a list of receivers, each with a name and a kind' }]);
  }
  if (list.length > MOST_RECEIVERS) {
    const message = `it has ${list.length} receivers, and at most ${MOST_RECEIVERS} are used`;
    throw file.error([{ path: [], message }]);
  }
  for (const [index, entry] of (list as readonly unknown[]).entries()) {
    const found = receiverOf(entry, index, mistakes, mail);
    if (found === null) continue;
    if (receivers.some((each) => each.name === found.name))
      mistakes.push({ path: [index, 'name'], message: `another receiver has the name ${found.name}` });
    receivers.push(found);
  }
  if (mistakes.length > 0) throw file.error(mistakes);
  return receivers;
}

function textMistakes(
  texts: Readonly<Record<string, unknown>>,
  index: number,
  kind: string,
  { required, optional }: Kind,
): Mistake[] {
  const keys = [...required, ...optional];
  const mistakes: Mistake[] = [...unknownKeys(texts, [index], keys, kind)];
  for (const key of keys) {
    const problem = texts[key] === undefined ? null : textProblem(key, texts[key]);
    if (problem !== null) mistakes.push({ path: [index, key], message: problem });
  }
  const missing = required.filter((key) => texts[key] === undefined);
  return [...mistakes, ...missing.map((key) => ({ path: [index, key], message: `${kind} needs ${key}` }))];
}

/** Adds the mistakes of an entry. Null when it has some. */
function receiverOf(
  entry: unknown,
  index: number,
  mistakes: Mistake[],
  mail: MailServer | null,
): Receiver | null {
  const before = mistakes.length;
  const mistake = (key: string, message: string) => void mistakes.push({ path: [index, key], message });
  if (!isTable(entry)) {
    mistakes.push({ path: [index], message: 'a receiver has a name and a kind' });
    return null;
  }
  const { name, kind, ...rest } = entry;
  if (typeof name !== 'string' || !NAME.test(name))
    mistake('name', 'it must have 1 to 64 letters, digits, _ and -');
  else if (RESERVED.has(name)) mistake('name', `${name} is the name of a setting of ingest`);
  const known = typeof kind === 'string' && Object.hasOwn(KINDS, kind) ? KINDS[kind]! : null;
  if (known === null) mistake('kind', `it must be one of ${KIND_NAMES.join(', ')}`);
  if (known === null || mistakes.length > before) return null;
  mistakes.push(...textMistakes(rest, index, String(kind), known));
  if (mistakes.length > before) return null;
  const texts = rest as Texts;
  try {
    const shared = { name: String(name), kind: String(kind), version: JSON.stringify(entry) };
    return { ...shared, target: known.target(texts), send: known.open(texts, mail) };
  } catch (error) {
    const problem = problemOf(error);
    if (problem === null) throw error;
    mistakes.push({ path: [index], message: problem });
    return null;
  }
}

/** What is wrong with the texts of an entry, or null. */
function problemOf(error: unknown): string | null {
  if (error instanceof URIError) return 'its URL has a % that does not begin an escape: write % as %25';
  return error instanceof ConfigError ? error.problems.join('; ') : null;
}

/** Why a value cannot be used. The value is not part of the text. */
function textProblem(key: string, value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > MOST_CHARACTERS)
    return `it must be a text of 1 to ${MOST_CHARACTERS} characters`;
  // A header cannot have others.
  if (key === 'token' && !/^[\x21-\x7e]+$/.test(value)) return 'it has characters that no token has';
  if (key !== 'url') return null;
  const protocol = URL.parse(value)?.protocol;
  return protocol === 'https:' || protocol === 'http:' ? null : 'it must be a URL with https:// or http://';
}

function post(
  who: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object,
  signal: AbortSignal,
): Promise<void> {
  const sent = { 'Content-Type': 'application/json', ...headers };
  return deliver(who, { method: 'POST', url, headers: sent, body: JSON.stringify(body) }, signal);
}

function bearer(token: string | undefined): Readonly<Record<string, string>> {
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

function linesOf(notice: Notice): string {
  const { title, text } = noticeText(notice);
  return `${title}\n${text}`;
}
