import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ConnectRequest, LoginProblem, Peer, User } from '@tidegauge/mqtt-session/server';
import { type Config, ConfigError, clientOf, Guesses, type Logger } from '@tidegauge/service';
import { type Acl, OWN_TOPICS, parseAcl, writableTopics } from './acl.ts';
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

/** Password hashes that are computed at the same time. Node has four threads for them and for files. */
const MAX_CHECKS = 2;
/** Logins that wait for one of these. A connection that ends leaves its login in the queue. */
const MAX_WAITING = 1000;
const NAME_BYTES = 256;
const EVERYTHING: Acl = [{ user: null, isPattern: true, isDenied: false, filter: '#' }];

/**
 * Decides which sensors may connect, and which topics they may publish on.
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
  // Passwords are not kept, and a digest with this key is useless elsewhere.
  readonly #key = randomBytes(32);
  /** The digest of the last correct password of each user, and the hash that it matched: hashes take long. */
  readonly #known = new Map<string, { readonly hashed: Hashed; readonly digest: Buffer }>();
  #checks = 0;
  readonly #waiting: (() => void)[] = [];

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
  }

  async authenticate(request: ConnectRequest, peer: Peer): Promise<User | LoginProblem> {
    const { username, password, clientId } = request;
    if (peer.certificateName !== null) {
      const name = peer.certificateName;
      return isUserName(name) ? this.#user(name, clientId, OWN_TOPICS) : 'not_authorized';
    }
    if (!this.#needsLogin) {
      const isAllowed = this.#isAnonymous || peer.isLoopback;
      return isAllowed ? this.#user(null, clientId, EVERYTHING) : 'not_authorized';
    }
    if (username === null && password === null)
      return this.#isAnonymous ? this.#user(null, clientId, EVERYTHING) : 'not_authorized';
    if (username === null || password === null || !isUserName(username)) return 'credentials';
    const isSingle = username === this.#single?.user;
    const topics = isSingle ? EVERYTHING : OWN_TOPICS;
    const client = clientOf(peer.address);
    const isThrottled = () => this.#guesses.isThrottled(client, username);
    if (isThrottled()) return 'busy';
    const found = isSingle ? this.#isSingle(password) : await this.#isUser(username, password, isThrottled);
    if (found === 'busy') return found;
    if (!found) {
      this.#guesses.failed(client, { method: 'CONNECT', path: 'mqtt' }, username);
      return 'credentials';
    }
    this.#guesses.succeeded(client, username);
    const user = this.#user(username, clientId, topics);
    return isSingle ? user : { ...user, isCurrent: this.#isListed(username) };
  }

  close(): void {
    this.#passwords?.close();
    this.#acl?.close();
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
    let from: Acl | null = null;
    let mayPublish: (topic: string) => boolean = () => false;
    return {
      name,
      mayPublish: (topic) => {
        const acl = this.#acl?.content ?? withoutAcl;
        if (acl !== from) {
          from = acl;
          mayPublish = writableTopics(acl, name, clientId);
        }
        return mayPublish(topic);
      },
    };
  }

  #isSingle(password: Buffer): boolean {
    return timingSafeEqual(this.#digest(password), this.#single!.digest);
  }

  /** Whether a password is the one with which the user logged in last. It takes no hash. */
  #isKnown(user: string, password: Buffer): boolean {
    const known = this.#known.get(user);
    return (
      known !== undefined &&
      this.#isUnchanged(user, known.hashed) &&
      timingSafeEqual(known.digest, this.#digest(password))
    );
  }

  #isUnchanged(user: string, hashed: Hashed): boolean {
    const now = this.#passwords?.content.get(user);
    return now !== undefined && isSameHash(hashed, now);
  }

  /** @param isThrottled asked again after the wait, in which others of the same client may have failed */
  async #isUser(user: string, password: Buffer, isThrottled: () => boolean): Promise<boolean | 'busy'> {
    if (this.#passwords === null) return false;
    if (this.#isKnown(user, password)) return true;
    if (this.#checks >= MAX_CHECKS && this.#waiting.length >= MAX_WAITING) return 'busy';
    await this.#turn();
    try {
      if (isThrottled()) return 'busy';
      const passwords = this.#passwords.content;
      const hashed = passwords.get(user);
      const matches = await matchesPassword(hashed ?? decoyOf(passwords), password);
      // The file can have changed meanwhile.
      if (!matches || hashed === undefined || !this.#isUnchanged(user, hashed)) return false;
      // As many entries as users at most, besides those who were removed from the file.
      if (this.#known.size > 2 * passwords.size) this.#known.clear();
      this.#known.set(user, { hashed, digest: this.#digest(password) });
      return true;
    } finally {
      this.#checks -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #turn(): Promise<void> {
    while (this.#checks >= MAX_CHECKS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#checks += 1;
  }

  #digest(password: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(password).digest();
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
