import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { SCOPES, type Scope } from './principal.ts';

/** An API key as it is stored: everything except its text. */
export interface ApiKey {
  /** Ten hexadecimal digits: the second part of the key's text. Logs and lists show it. */
  readonly id: string;
  /** What the key is for, in the words of its owner. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The key is limited to this device and the devices below it; null for all devices. */
  readonly devices: string | null;
  /** ISO 8601. */
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
  /** Of the key's text, hexadecimal. */
  readonly sha256: string;
}

export type KeyState = 'valid' | 'expired' | 'revoked';

/** What the maker of a key chooses. */
export type KeyFields = Pick<ApiKey, 'name' | 'scopes' | 'devices' | 'expires'>;

const ID_BYTES = 5;
/** 192 bits. */
const SECRET_BYTES = 24;
const KEY = /^tg_([0-9a-f]{10})_[0-9a-f]{48}$/;
const NO_DIGEST = Buffer.alloc(32);
const MAX_NAME = 100;
const ID = /^[0-9a-f]{10}$/;
const SHA256 = /^[0-9a-f]{64}$/;

/**
 * A new key: its text, which is not stored, and its record. The text is `tg_<id>_<secret>`.
 *
 * The record has a SHA-256 of the text. A slow hash protects passwords because they can be guessed; 192 random bits
 * cannot be guessed at any speed, and a slow hash would cost every request its time.
 *
 * @param now milliseconds since the epoch
 */
export function newKey(
  { name, scopes, devices, expires }: KeyFields,
  now: number,
): { readonly text: string; readonly key: ApiKey } {
  const id = randomBytes(ID_BYTES).toString('hex');
  const text = `tg_${id}_${randomBytes(SECRET_BYTES).toString('hex')}`;
  const created = new Date(now).toISOString();
  const sha256 = digest(text).toString('hex');
  return { text, key: { id, name, scopes, devices, created, expires, revoked: null, sha256 } };
}

/** The id in the text of a key; null when the text does not have the form of a key. */
export function keyIdOf(text: string): string | null {
  return KEY.exec(text)?.[1] ?? null;
}

/** Whether a text has this digest. The time does not depend on either of them. */
export function hasDigest(text: string, expected: Buffer | null): boolean {
  const isEqual = timingSafeEqual(digest(text), expected ?? NO_DIGEST);
  return isEqual && expected !== null;
}

/** SHA-256. Digests have equal lengths, which the timing-safe comparison needs. */
export function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** @param now milliseconds since the epoch */
export function stateOf({ expires, revoked }: ApiKey, now: number): KeyState {
  if (revoked !== null) return 'revoked';
  return expires !== null && Date.parse(expires) <= now ? 'expired' : 'valid';
}

/**
 * Checks the record of a key, as a file contains it.
 *
 * @throws {Error} with the field and what is wrong with it
 */
export function readKey(value: unknown): ApiKey {
  const record = value as Readonly<Record<string, unknown>> | null;
  if (typeof record !== 'object' || record === null) throw new Error('it is not an object');
  const { id, name, scopes, devices = null, created, expires = null, revoked = null, sha256 } = record;
  demand(typeof id === 'string' && ID.test(id), 'id must be ten hexadecimal digits');
  demand(isName(name), `name must be a text of 1 to ${MAX_NAME} characters`);
  demand(isScopes(scopes), `scopes must be a list of ${SCOPES.join(', ')}`);
  demand(devices === null || typeof devices === 'string', 'devices must be the name of a device or null');
  demand(isTime(created), 'created must be a time');
  demand(expires === null || isTime(expires), 'expires must be a time or null');
  demand(revoked === null || isTime(revoked), 'revoked must be a time or null');
  demand(typeof sha256 === 'string' && SHA256.test(sha256), 'sha256 must be 64 hexadecimal digits');
  return { id, name, scopes, devices, created, expires, revoked, sha256 };
}

export function isName(name: unknown): name is string {
  return typeof name === 'string' && /^[^\p{Cc}]+$/u.test(name) && name.length <= MAX_NAME;
}

function isScopes(scopes: unknown): scopes is readonly Scope[] {
  return Array.isArray(scopes) && scopes.length > 0 && scopes.every((each) => SCOPES.includes(each));
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && Number.isFinite(Date.parse(value));
}

function demand(isValid: boolean, message: string): asserts isValid {
  if (!isValid) throw new Error(message);
}
