import { isUtf8 } from 'node:buffer';
import { argon2, createHash, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ConfigError } from '@tidegauge/service';

/** A hashed password, as mosquitto_passwd writes it. */
export type Hashed =
  | { readonly kind: 'sha512'; readonly salt: Buffer; readonly hash: Buffer }
  | { readonly kind: 'pbkdf2'; readonly salt: Buffer; readonly hash: Buffer; readonly iterations: number }
  | {
      readonly kind: 'argon2id';
      readonly salt: Buffer;
      readonly hash: Buffer;
      readonly memory: number;
      readonly passes: number;
      readonly lanes: number;
    };

/** Hashed passwords by user name. */
export type Passwords = ReadonlyMap<string, Hashed>;

const MAX_USERS = 100_000;
const MAX_ITERATIONS = 10_000_000;
/** KiB: argon2 allocates it for each check. */
const MAX_MEMORY = 256 * 1024;
const MAX_PASSES = 100;
const MAX_LANES = 16;
const SHA512_BYTES = 64;
const NEW_ITERATIONS = 101_000;

/**
 * Reads a password file of mosquitto: a line `USER:HASH` for each user. It supports the hashes `$6$` (SHA-512), `$7$`
 * (PBKDF2 with SHA-512) and `$argon2id$`.
 *
 * @throws {ConfigError} with the line of a mistake; it has no part of a password
 */
export function parsePasswords(text: string, file: string): Passwords {
  const users = new Map<string, Hashed>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const at = `${file}, line ${index + 1}`;
    const colon = line.indexOf(':');
    const user = line.slice(0, colon);
    if (colon < 1) throw new ConfigError([`${at}: write USER:HASH, as tidegauge passwords does`]);
    const hashed = parseHash(line.slice(colon + 1).trim());
    if (hashed === null) {
      throw new ConfigError([
        `${at}: the password of ${JSON.stringify(user)} is not hashed, or in a format that is not supported: use tidegauge passwords`,
      ]);
    }
    users.set(user, hashed);
    if (users.size > MAX_USERS) throw new ConfigError([`${file} has more than ${MAX_USERS} users`]);
  }
  return users;
}

/** By the name of the format in a hash. Each returns null when the parts after the name are not valid. */
const FORMATS: ReadonlyMap<string, (parts: readonly string[]) => Hashed | null> = new Map([
  ['6', readSha512],
  ['7', readPbkdf2],
  ['argon2id', readArgon2],
]);

function parseHash(text: string): Hashed | null {
  const [, format = '', ...parts] = text.split('$');
  const hashed = FORMATS.get(format)?.(parts) ?? null;
  return hashed === null ? null : checked(hashed);
}

function readSha512(parts: readonly string[]): Hashed | null {
  return parts.length === 2 ? { kind: 'sha512', ...saltAndHash(parts) } : null;
}

function readPbkdf2([count, ...parts]: readonly string[]): Hashed | null {
  const iterations = Number(count);
  if (parts.length !== 2 || !Number.isInteger(iterations)) return null;
  const isPossible = isWithin(iterations, 1, MAX_ITERATIONS);
  return isPossible ? { kind: 'pbkdf2', iterations, ...saltAndHash(parts) } : null;
}

function readArgon2([version, costs = '', ...parts]: readonly string[]): Hashed | null {
  const found = /^m=(\d+),t=(\d+),p=(\d+)$/.exec(costs);
  if (version !== 'v=19' || found === null || parts.length !== 2) return null;
  const [memory, passes, lanes] = found.slice(1).map(Number) as [number, number, number];
  const isPossible =
    isWithin(memory, 8 * lanes, MAX_MEMORY) &&
    isWithin(passes, 1, MAX_PASSES) &&
    isWithin(lanes, 1, MAX_LANES);
  return isPossible ? { kind: 'argon2id', memory, passes, lanes, ...saltAndHash(parts) } : null;
}

function isWithin(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

function saltAndHash([salt = '', hash = '']: readonly string[]): { salt: Buffer; hash: Buffer } {
  return { salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

function checked(hashed: Hashed): Hashed | null {
  const { kind, salt, hash } = hashed;
  const isLength =
    kind === 'argon2id' ? hash.length >= 16 && hash.length <= 128 : hash.length === SHA512_BYTES;
  return salt.length >= (kind === 'argon2id' ? 8 : 1) && salt.length <= 128 && isLength ? hashed : null;
}

/** Whether two hashes are of the same password, as it was set once. */
export function isSameHash(one: Hashed, other: Hashed): boolean {
  return one.kind === other.kind && one.hash.equals(other.hash) && one.salt.equals(other.salt);
}

/**
 * Compares in constant time. Rejects when the computation is not possible, for example without memory.
 *
 * PBKDF2 has one hash for a password, for it with NULs at its end, and for the SHA-512 of a password above 128 bytes
 * (RFC 2104, section 2). Passwords are texts without NULs, so only one of these matches.
 */
export async function matchesPassword(hashed: Hashed, password: Buffer): Promise<boolean> {
  return timingSafeEqual(await hashOf(hashed, password), hashed.hash) && isPassword(password);
}

/** Whether bytes can be a password: a text of well-formed UTF-8 without NUL. */
export function isPassword(password: Buffer): boolean {
  return isUtf8(password) && !password.includes(0);
}

/** A hash for a user that does not exist, so that the time of an answer does not show which users exist. */
export function decoyOf(passwords: Passwords): Hashed {
  const [first] = passwords.values();
  return { ...(first ?? newHashed()), hash: randomBytes(first?.hash.length ?? SHA512_BYTES) };
}

/** The line of a user in a password file: PBKDF2 with SHA-512, which mosquitto reads too. */
export async function passwordLine(user: string, password: string): Promise<string> {
  const hashed = newHashed();
  const hash = await hashOf(hashed, Buffer.from(password));
  return `${user}:$7$${NEW_ITERATIONS}$${hashed.salt.toString('base64')}$${hash.toString('base64')}`;
}

function newHashed(): Hashed {
  const empty = Buffer.alloc(SHA512_BYTES);
  return { kind: 'pbkdf2', iterations: NEW_ITERATIONS, salt: randomBytes(12), hash: empty };
}

async function hashOf(hashed: Hashed, password: Buffer): Promise<Buffer> {
  const { salt, hash } = hashed;
  if (hashed.kind === 'sha512') return createHash('sha512').update(password).update(salt).digest();
  if (hashed.kind === 'pbkdf2')
    return promisify(pbkdf2)(password, salt, hashed.iterations, hash.length, 'sha512');
  const { memory, passes, lanes } = hashed;
  const cost = { memory, passes, parallelism: lanes, tagLength: hash.length };
  return promisify(argon2)('argon2id', { message: password, nonce: salt, ...cost });
}
