import { readFileSync } from 'node:fs';
import { ConfigError, changeFile } from '@tidegauge/service';
import { isUserName } from './logins.ts';
import { isPassword, parsePasswords, passwordLine } from './passwords.ts';

/** A password is a binary field of CONNECT (MQTT 5, section 3.1.3.6). */
const MAX_PASSWORD_BYTES = 65_535;

/**
 * The users of a password file, in its order.
 *
 * @throws {ConfigError} when it cannot be read, or has a mistake
 */
export function usersOf(path: string): readonly string[] {
  return [...parsePasswords(contentOf(path), path).keys()];
}

/**
 * Adds a user to a password file, or changes the password of one. Resolves to whether the user is new.
 *
 * @throws {ConfigError} when the file, the name or the password cannot be used, or when the user exists and must not change
 */
export async function setPassword(
  path: string,
  user: string,
  password: string,
  mayReplace = true,
): Promise<boolean> {
  const problem = userProblem(user) ?? passwordProblem(password);
  if (problem !== null) throw new ConfigError([problem]);
  const line = await passwordLine(user, password);
  let isNew = true;
  changeFile(path, () => {
    const lines = linesOf(path);
    const kept: string[] = [];
    for (const each of lines) {
      if (userOf(each) !== user) kept.push(each);
      else if (!mayReplace)
        throw new ConfigError([`there is a login ${JSON.stringify(user)}: its password stays`]);
      else if (isNew) {
        kept.push(line);
        isNew = false;
      }
    }
    if (isNew) kept.push(line);
    return textOf(kept, path);
  });
  return isNew;
}

/**
 * Removes a user from a password file.
 *
 * @throws {ConfigError} when the file cannot be used, or has no such user
 */
export function removePassword(path: string, user: string): void {
  changeFile(path, () => {
    const lines = linesOf(path);
    const kept = lines.filter((each) => userOf(each) !== user);
    if (kept.length === lines.length)
      throw new ConfigError([`${path} has no user ${JSON.stringify(user)}: tidegauge passwords list`]);
    return textOf(kept, path);
  });
}

/** Why a text cannot be the name of a user in the file, or null. */
export function userProblem(user: string): string | null {
  const name = JSON.stringify(user);
  if (!isUserName(user))
    return `the user name ${name} is empty, longer than 256 bytes, or has control characters`;
  if (user.includes(':')) return `the user name ${name} has a colon, which ends a name in the file`;
  return user.startsWith('#') ? `the user name ${name} begins with #, as comments in the file do` : null;
}

/** Why a text cannot be a password, or null. */
export function passwordProblem(password: string): string | null {
  if (password === '') return 'the password is empty';
  if (!isPassword(Buffer.from(password))) return 'the password has the character NUL';
  const bytes = Buffer.byteLength(password);
  return bytes > MAX_PASSWORD_BYTES
    ? `the password has ${bytes} bytes: MQTT has room for ${MAX_PASSWORD_BYTES}`
    : null;
}

/** The lines of a file without mistakes; none when it does not exist. */
function linesOf(path: string): readonly string[] {
  const text = contentOf(path, '');
  parsePasswords(text, path);
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The user of a line; null: it is empty or a comment. */
function userOf(line: string): string | null {
  return line.startsWith('#') || line.trim() === '' ? null : line.slice(0, line.indexOf(':'));
}

function textOf(lines: readonly string[], path: string): string {
  const text = lines.map((line) => `${line}\n`).join('');
  // Not more users than ingest reads.
  parsePasswords(text, path);
  return text;
}

/** @param missing the content of a file that does not exist. Default: it is an error */
function contentOf(path: string, missing?: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && missing !== undefined) return missing;
    throw new ConfigError([
      code === 'ENOENT'
        ? `${path} does not exist: make it with tidegauge passwords add USER`
        : `${path} cannot be read: ${message}`,
    ]);
  }
}
