import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ConnectRequest, LoginProblem, Peer, User } from '@tidegauge/mqtt-session/server';
import { type Config, ConfigError, clientOf, Guesses, type Logger, Recent } from '@tidegauge/service';
import { type Acl, OWN_TOPICS, parseAcl, readableTopics, writableTopics } from './acl.ts';
import { CheckQueue } from './check-queue.ts';
import {
  decoyOf,
  type Hashed,
  isSameHash,
  matchesPassword,
  type Passwords,
  parsePasswords,
} from './passwords.ts';
import type { DIRECT_SETTINGS } from './settings.ts';
import { WatchedFile } from './watched-file.ts';

type Settings = Pick<
  Config<typeof DIRECT_SETTINGS>,
  'listenPasswords' | 'listenAcl' | 'listenUser' | 'listenPassword' | 'listenAnonymous' | 'listenCa'
>;

/** Between two checks of passwords of a user from one address, after too many wrong ones. */
const LATE_MS = 100;
/** How long an address comes after others when a wrong password came from it. */
const TROUBLE_MS = 60_000;
/** Users of addresses, and addresses, that are remembered. */
const MAX_KNOWN = 10_000;
/** Passwords that are remembered as wrong, or as not checked. */
const MAX_SEEN = 8192;
/** The turn of passwords that have taken their attempt. No name of a user has a NUL. */
const COUNTED = '\0';
const NAME_BYTES = 256;
const EVERYTHING: Acl = [{ user: null, isPattern: true, access: 'readwrite', filter: '#' }];

/** The passwords of an address that were checked with a hash. */
interface AddressRecord {
  /** The time of the last wrong one. */
  readonly failedAt: number;
  /** Wrong ones since there was none for TROUBLE_MS. */
  readonly wrong: number;
  readonly right: number;
}

const NO_RECORD: AddressRecord = { failedAt: Number.NEGATIVE_INFINITY, wrong: 0, right: 0 };

/** A user name and a password from an address. */
interface Login {
  readonly client: string;
  readonly user: string;
  readonly clientId: string;
  readonly password: Buffer;
}

/**
 * Decides which sensors may connect, which topics they may publish on, and which requests for readings they receive.
 *
 * A sensor logs in with a client certificate, whose common name is its user name, or with a user name and a password. A
 * login without either is accepted on loopback while no logins are configured, and with LISTEN_ANONYMOUS.
 */
export class Logins {
  readonly #passwords: WatchedFile<Passwords> | null;
  readonly #acl: WatchedFile<Acl> | null;
  readonly #single: { readonly user: string; readonly digest: Buffer } | null;
  readonly #isAnonymous: boolean;
  readonly #needsLogin: boolean;
  readonly #guesses: Guesses;
  readonly #now: () => number;
  // Passwords are not kept, and a digest with this key is useless elsewhere.
  readonly #key = randomBytes(32);
  /** The digest of the last correct password of each user, and the hash that it matched: hashes take long. */
  readonly #known = new Map<string, { readonly hashed: Hashed; readonly digest: Buffer }>();
  /** What became of other passwords, by the digest of user, hash and password. */
  readonly #seen = new Recent<'wrong' | 'unchecked'>(MAX_SEEN);
  /** The client id of the last login of a user from an address. */
  readonly #clientIds = new Recent<string>(MAX_KNOWN);
  /** The time of the last check of a user of an address without attempts. */
  readonly #checkedAt = new Recent<number>(MAX_KNOWN);
  /** What came from an address. */
  readonly #records = new Recent<AddressRecord>(MAX_KNOWN);
  readonly #queue: CheckQueue;

  /** @throws {ConfigError} when settings or files cannot be used */
  constructor(settings: Settings, logger: Logger, now = () => performance.now()) {
    const { listenPasswords, listenAcl, listenUser, listenPassword } = settings;
    if ((listenUser === null) !== (listenPassword === null))
      throw new ConfigError(['LISTEN_USER and LISTEN_PASSWORD need each other: set both or neither']);
    this.#passwords =
      listenPasswords === null
        ? null
        : new WatchedFile('LISTEN_PASSWORDS', listenPasswords, parsePasswords, logger);
    this.#acl = listenAcl === null ? null : new WatchedFile('LISTEN_ACL', listenAcl, parseAcl, logger);
    this.#single =
      listenUser === null ? null : { user: listenUser, digest: this.#digest(Buffer.from(listenPassword!)) };
    this.#isAnonymous = settings.listenAnonymous;
    this.#needsLogin = hasLogins(settings);
    this.#guesses = new Guesses(logger, now);
    this.#now = now;
    this.#queue = new CheckQueue((client, name) => this.#orderOf(client, name));
  }

  /** @param signal aborted when the connection ends: its password is not checked then */
  async authenticate(request: ConnectRequest, peer: Peer, signal: AbortSignal): Promise<User | LoginProblem> {
    const { username, password, clientId } = request;
    if (peer.certificateName !== null) {
      const name = peer.certificateName;
      return isUserName(name) ? this.#user(name, clientId, OWN_TOPICS) : 'not_authorized';
    }
    if (!this.#needsLogin) return this.#anonymous(clientId, this.#isAnonymous || peer.isLoopback);
    if (username === null && password === null) return this.#anonymous(clientId, this.#isAnonymous);
    if (username === null || password === null || !isUserName(username)) return 'credentials';
    const isSingle = username === this.#single?.user;
    const topics = isSingle ? EVERYTHING : OWN_TOPICS;
    const client = clientOf(peer.address);
    const found = await this.#isRight({ client, user: username, clientId, password }, signal);
    if (found === 'busy') return found;
    if (!found) return 'credentials';
    this.#clientIds.set(`${client} ${username}`, clientId);
    const user = this.#user(username, clientId, topics);
    return isSingle ? user : { ...user, isCurrent: this.#isListed(username) };
  }

  #anonymous(clientId: string, isAllowed: boolean): User | 'not_authorized' {
    return isAllowed ? this.#user(null, clientId, EVERYTHING) : 'not_authorized';
  }

  close(): void {
    this.#passwords?.close();
    this.#acl?.close();
    this.#queue.close();
  }

  /** Whether a user who has just logged in is still in the file, with the same password. */
  #isListed(name: string): () => boolean {
    let passwords = this.#passwords!.content;
    const hashed = passwords.get(name);
    return () => {
      const { content } = this.#passwords!;
      if (content === passwords) return true;
      const now = content.get(name);
      if (hashed === undefined || now === undefined || !isSameHash(hashed, now)) return false;
      passwords = content;
      return true;
    };
  }

  /** A user whose topics follow changes of the access list. */
  #user(name: string | null, clientId: string, withoutAcl: Acl): User {
    const following = (topicsOf: typeof writableTopics) => {
      let from: Acl | null = null;
      let isAllowed: (topic: string) => boolean = () => false;
      return (topic: string) => {
        const acl = this.#acl?.content ?? withoutAcl;
        if (acl !== from) {
          from = acl;
          isAllowed = topicsOf(acl, name, clientId);
        }
        return isAllowed(topic);
      };
    };
    return { name, mayPublish: following(writableTopics), mayReceive: following(readableTopics) };
  }

  /**
   * Whether a password is right; 'busy': it was not checked.
   *
   * A wrong password takes an attempt of its user and address. Without attempts, one password is checked every LATE_MS,
   * also a known one, or else passwords could be tried at any rate. A wrong password that comes again is no guess.
   */
  async #isRight(login: Login, signal: AbortSignal): Promise<boolean | 'busy'> {
    const { client, user, password } = login;
    const name = this.#nameOf(login);
    const id = this.#idOf(user, password);
    if (this.#seen.get(id) === 'wrong') return false;
    let isCounted = false;
    if (this.#guesses.hasAttempt(client, name)) {
      const isKnown = this.#isKnown(user, password);
      if (isKnown === true) return true;
      isCounted = isKnown === false;
      if (isCounted) this.#fail(client, name);
    }
    const isFirst = this.#seen.get(id) === 'unchecked';
    // A wrong one is hashed too, so that the time of the answer does not show who has logged in.
    const turn = { client, user: isCounted ? COUNTED : name, bytes: password.length, isFirst };
    if (!(await this.#queue.turn(turn, signal))) {
      // A sensor sends its password again, and somebody who guesses sends another one.
      this.#seen.set(id, 'unchecked');
      return 'busy';
    }
    try {
      if (!this.#guesses.hasAttempt(client, turn.user)) this.#checkedAt.set(`${client} ${name}`, this.#now());
      if (this.#isKnown(user, password)) return true;
      if (await this.#matches(user, password)) {
        this.#note(client, ({ right }) => ({ right: right + 1 }));
        return true;
      }
      this.#seen.set(id, 'wrong');
      if (!isCounted) this.#fail(client, name);
      return false;
    } finally {
      this.#queue.end();
    }
  }

  /**
   * Whose attempts and turns a login takes. A client id that the user had at this address has its own, so that others
   * behind the same router cannot use them up. Users that do not exist share theirs.
   */
  #nameOf({ client, user, clientId }: Login): string {
    if (this.#clientIds.get(`${client} ${user}`) === clientId) return `${user}\0${clientId}`;
    return user === this.#single?.user || this.#passwords?.content.has(user) ? user : '';
  }

  /**
   * Addresses with wrong passwords come last. Their turns are in proportion to their right passwords, because many
   * sensors can be behind the router of one that guesses.
   */
  #orderOf(client: string, name: string): { rank: number; waitMs: number } {
    const now = this.#now();
    const { failedAt, wrong, right } = this.#records.get(client) ?? NO_RECORD;
    const last = 2 + wrong / (1 + right);
    if (!this.#guesses.hasAttempt(client, name)) {
      const checkedAt = this.#checkedAt.get(`${client} ${name}`) ?? Number.NEGATIVE_INFINITY;
      return { rank: last, waitMs: checkedAt + LATE_MS - now };
    }
    if (name.indexOf('\0') > 0 || this.#clientIds.get(`${client} ${name}`) !== undefined)
      return { rank: 0, waitMs: 0 };
    return { rank: now - failedAt > TROUBLE_MS ? 1 : last, waitMs: 0 };
  }

  #fail(client: string, name: string): void {
    const now = this.#now();
    this.#note(client, ({ failedAt, wrong }) => ({
      failedAt: now,
      wrong: now - failedAt > TROUBLE_MS ? 1 : wrong + 1,
    }));
    this.#guesses.failed(client, { method: 'CONNECT', path: 'mqtt' }, name);
  }

  #note(client: string, change: (record: AddressRecord) => Partial<AddressRecord>): void {
    const record = this.#records.get(client) ?? NO_RECORD;
    this.#records.set(client, { ...record, ...change(record) });
  }

  /** Compares a password with the one with which the user logged in last, without a hash. Null: there is none. */
  #isKnown(user: string, password: Buffer): boolean | null {
    const digest = this.#digest(password);
    if (user === this.#single?.user) return timingSafeEqual(digest, this.#single.digest);
    const known = this.#known.get(user);
    if (known === undefined || !this.#isUnchanged(user, known.hashed)) return null;
    return timingSafeEqual(known.digest, digest);
  }

  #isUnchanged(user: string, hashed: Hashed): boolean {
    const now = this.#passwords?.content.get(user);
    return now !== undefined && isSameHash(hashed, now);
  }

  /** Computes the hash of a password, also for a user that does not exist. */
  async #matches(user: string, password: Buffer): Promise<boolean> {
    const passwords = this.#passwords?.content;
    if (passwords === undefined || user === this.#single?.user) return false;
    const hashed = passwords.get(user);
    const matches = await matchesPassword(hashed ?? decoyOf(passwords), password);
    // The file can have changed meanwhile.
    if (!matches || hashed === undefined || !this.#isUnchanged(user, hashed)) return false;
    // As many entries as users at most, besides those who were removed from the file.
    if (this.#known.size > 2 * passwords.size) this.#known.clear();
    this.#known.set(user, { hashed, digest: this.#digest(password) });
    return true;
  }

  #digest(password: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(password).digest();
  }

  /** A password of a user, as long as the user's hash does not change. */
  #idOf(user: string, password: Buffer): string {
    const hash = this.#passwords?.content.get(user)?.hash ?? '';
    return createHmac('sha256', this.#key).update(`${user}\0`).update(hash).update(password).digest('base64');
  }
}

/** Whether sensors have a way to log in. */
export function hasLogins({ listenPasswords, listenUser, listenCa }: Settings): boolean {
  return listenPasswords !== null || listenUser !== null || listenCa !== null;
}

/** Whether a text can be the name of a user. */
export function isUserName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return name !== '' && Buffer.byteLength(name) <= NAME_BYTES && !/[\x00-\x1f\x7f]/.test(name);
}
