import { ConfigError } from '@tidegauge/service';
import { RESEND_TOPIC } from '../resend/topic.ts';

/** A line of an access list. */
interface AclRule {
  /** Null: for clients without a login. `*`: a pattern, for everyone. */
  readonly user: string | null;
  readonly isPattern: boolean;
  readonly access: Access;
  readonly filter: string;
}

type Access = (typeof ACCESS)[number];

export type Acl = readonly AclRule[];

const ACCESS = ['read', 'write', 'readwrite', 'deny'] as const;
const MAX_LINES = 100_000;

/**
 * The topics of a sensor without an access list, as at the brokers of the stacks: it publishes its own readings, and receives
 * the requests for them.
 */
export const OWN_TOPICS: Acl = [
  { user: null, isPattern: true, access: 'write', filter: 'sensors/%u/#' },
  { user: null, isPattern: true, access: 'read', filter: `${RESEND_TOPIC}/%u/#` },
];

/**
 * Reads an access list in the format of mosquitto (mosquitto.conf(5), `acl_file`): `user NAME`, `topic [ACCESS] FILTER`,
 * `pattern [ACCESS] FILTER`. Only requests for missing readings can be read.
 *
 * @throws {ConfigError} with the line of a mistake
 */
export function parseAcl(text: string, file: string): Acl {
  const rules: AclRule[] = [];
  let user: string | null = null;
  const lines = text.split(/\r?\n/);
  if (lines.length > MAX_LINES) throw new ConfigError([`${file} has more than ${MAX_LINES} lines`]);
  for (const [index, line] of lines.entries()) {
    const at = `${file}, line ${index + 1}`;
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, word = '', rest = ''] = /^\s*(\S+)\s*(.*?)\s*$/.exec(line) ?? [];
    if (word === 'user' && rest !== '') user = rest;
    else if (word === 'topic') rules.push({ ...ruleOf(rest, at), user, isPattern: false });
    else if (word === 'pattern') rules.push({ ...ruleOf(rest, at), user: null, isPattern: true });
    else throw new ConfigError([`${at}: write user NAME, topic [write] FILTER or pattern [write] FILTER`]);
  }
  return rules;
}

function ruleOf(rest: string, at: string): Pick<AclRule, 'access' | 'filter'> {
  const [, first, second = ''] = /^(\S+)\s+(.+)$/.exec(rest) ?? [];
  const access = ACCESS.find((word) => word === first);
  const filter = access === undefined ? rest : second;
  if (!isFilter(filter) || ACCESS.some((word) => word === filter))
    throw new ConfigError([`${at}: ${JSON.stringify(filter)} is not a topic filter`]);
  return { access: access ?? 'readwrite', filter };
}

/** MQTT 5, section 4.7.1: + is a whole level, # is the last one. */
function isFilter(filter: string): boolean {
  if (filter === '' || filter.includes('\0')) return false;
  const levels = filter.split('/');
  return levels.every(
    (level, index) => level === '+' || (level === '#' && index === levels.length - 1) || !/[+#]/.test(level),
  );
}

/** Whether a filter matches a topic (MQTT 5, section 4.7). */
export function filterMatcher(filter: string): (topic: string) => boolean {
  // The usual forms need no split: everything, and `a/b/#`, which matches a/b and everything below it.
  if (filter === '#') return (topic) => !topic.startsWith('$');
  const prefix = filter.slice(0, -1);
  if (filter.endsWith('/#') && !/[+#]/.test(prefix)) {
    const parent = prefix.slice(0, -1);
    return (topic) => topic.startsWith(prefix) || topic === parent;
  }
  const levels = filter.split('/');
  const isWildFirst = levels[0] === '#' || levels[0] === '+';
  return (topic) => {
    if (isWildFirst && topic.startsWith('$')) return false;
    const parts = topic.split('/');
    for (const [index, level] of levels.entries()) {
      if (level === '#') return true;
      if (index >= parts.length || (level !== '+' && level !== parts[index])) return false;
    }
    // `a/#` matches a as well, which the loop has answered.
    return parts.length === levels.length;
  };
}

/**
 * The topics that a client may publish on. A denial comes before a permission. Topics that begin with `$` are the
 * server's.
 *
 * @param user null without a login. A name with a separator or a wildcard has no patterns, because it would get other
 * topics than its own
 */
export function writableTopics(acl: Acl, user: string | null, clientId: string): (topic: string) => boolean {
  return topicsWith('write', acl, user, clientId);
}

/**
 * The topics of requests for missing readings that a client may receive.
 *
 * @param user as of `writableTopics`
 */
export function readableTopics(acl: Acl, user: string | null, clientId: string): (topic: string) => boolean {
  const isAllowed = topicsWith('read', acl, user, clientId);
  return (topic) => (topic === RESEND_TOPIC || topic.startsWith(`${RESEND_TOPIC}/`)) && isAllowed(topic);
}

function topicsWith(
  wanted: 'read' | 'write',
  acl: Acl,
  user: string | null,
  clientId: string,
): (topic: string) => boolean {
  const allowed: ((topic: string) => boolean)[] = [];
  const denied: ((topic: string) => boolean)[] = [];
  for (const rule of acl) {
    const filter = rule.isPattern ? fillIn(rule.filter, user, clientId) : rule.filter;
    if (filter === null || (!rule.isPattern && rule.user !== user)) continue;
    if (rule.access === 'deny') denied.push(filterMatcher(filter));
    else if (rule.access === 'readwrite' || rule.access === wanted) allowed.push(filterMatcher(filter));
  }
  return (topic) =>
    !topic.startsWith('$') &&
    allowed.some((matches) => matches(topic)) &&
    !denied.some((matches) => matches(topic));
}

function fillIn(pattern: string, user: string | null, clientId: string): string | null {
  if (pattern.includes('%u') && (user === null || !isLevel(user))) return null;
  if (pattern.includes('%c') && !isLevel(clientId)) return null;
  return pattern.replaceAll('%u', () => user!).replaceAll('%c', () => clientId);
}

function isLevel(name: string): boolean {
  return name !== '' && !/[+#/\0]/.test(name);
}
