import { appendFileSync, readFileSync } from 'node:fs';

/** Set by the test runner: the file that receives a line for each secret that is found. Without it nothing is watched. */
export const FINDINGS = 'TIDEGAUGE_SECRET_FINDINGS';

const SECRET_NAME = /TOKEN|PASSWORD|SECRET|API_KEY$|PASSPHRASE/;
/** Shorter texts are in other words. */
const MIN_LENGTH = 12;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds the secrets of a child process where they must not be: in its arguments, which every user of the machine can
 * read, and in its output. Its secrets are the variables that it is given with names such as `API_TOKEN`, the files
 * that they name (`API_TOKEN_FILE`), the hashes of a file of passwords (`LISTEN_PASSWORDS`), and passwords in URLs. A
 * finding names the variable and not the secret.
 */
export class SecretWatch {
  readonly #file: string;
  readonly #program: string;
  /** The variable of each form of each secret. */
  readonly #secrets: ReadonlyMap<string, string>;
  readonly #longest: number;
  readonly #found = new Set<string>();
  /** The end of what was read of each place. */
  readonly #ends = new Map<string, string>();

  /** @returns null when nothing has to be watched */
  static of(command: string, args: readonly string[], env: Environment): SecretWatch | null {
    const file = process.env[FINDINGS];
    const secrets = secretsOf(env);
    return file === undefined || secrets.size === 0 ? null : new SecretWatch(file, command, args, secrets);
  }

  private constructor(
    file: string,
    command: string,
    args: readonly string[],
    secrets: ReadonlyMap<string, string>,
  ) {
    this.#file = file;
    // Arguments can be whole programs. The file that is run is the last one with a name.
    this.#program = [command, ...args.filter((each) => /^[\w./-]{1,100}$/.test(each)).slice(-1)].join(' … ');
    this.#secrets = secrets;
    this.#longest = Math.max(...[...secrets.keys()].map(({ length }) => length));
    for (const arg of args) this.#look(arg, 'its arguments');
  }

  /**
   * Looks at a part of what the process writes. A secret can be divided between two parts.
   *
   * @param place where it is written, such as `stderr`
   */
  read(text: string, place: string): void {
    const all = (this.#ends.get(place) ?? '') + text;
    this.#look(all, place);
    this.#ends.set(place, all.slice(1 - this.#longest));
  }

  #look(text: string, where: string): void {
    for (const [secret, variable] of this.#secrets) {
      if (!text.includes(secret)) continue;
      const finding = `${this.#program}: the secret of ${variable} is in ${where}`;
      if (this.#found.has(finding)) continue;
      this.#found.add(finding);
      appendFileSync(this.#file, `${finding}\n`);
    }
  }
}

function secretsOf(env: Environment): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value = ''] of Object.entries(env)) {
    for (const secret of [...namedSecrets(name, value), URL.parse(value)?.password ?? '']) {
      if (secret.length < MIN_LENGTH) continue;
      for (const form of [secret, encodeURIComponent(secret), decoded(secret)]) found.set(form, name);
    }
  }
  return found;
}

function namedSecrets(name: string, value: string): string[] {
  if (!SECRET_NAME.test(name)) return [];
  const isHashes = name.endsWith('_PASSWORDS');
  if (!name.endsWith('_FILE') && !isHashes) return [value];
  try {
    const text = readFileSync(value, 'utf8').trim();
    return isHashes ? text.split('\n').map((line) => line.slice(line.indexOf(':') + 1)) : [text];
  } catch {
    // Some tests name a file that does not exist.
    return [];
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
