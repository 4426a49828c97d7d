import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { ConfigError } from '@tidegauge/service';

/** Larger than any password of MQTT. */
const MAX_BYTES = 128 * 1024;

/**
 * Reads a password: from a terminal twice, without showing it, and else the only line of standard input.
 *
 * @param what what it is for, such as `the password of site-3`
 * @throws {ConfigError} when the two differ, or the input is not one line
 */
export async function readSecret(what: string): Promise<string> {
  if (!process.stdin.isTTY) return onlyLine(await allOf(process.stdin), what);
  const first = await prompt(`${what}: `);
  if ((await prompt(`${what}, again: `)) !== first) throw new ConfigError([`${what}: the two are not equal`]);
  return first;
}

/** A line of the terminal that is not shown. Control-C ends the program, as everywhere. */
async function prompt(question: string): Promise<string> {
  // The terminal is in raw mode then, so only this interface could show what is typed, and its output goes nowhere.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  process.stderr.write(question);
  const interrupted = new AbortController();
  terminal.on('SIGINT', () => interrupted.abort());
  terminal.on('close', () => interrupted.abort());
  try {
    return await terminal.question('', { signal: interrupted.signal });
  } catch (error) {
    if (interrupted.signal.aborted) throw new ConfigError(['no password was entered: nothing was changed']);
    throw error;
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}

async function allOf(input: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new ConfigError([`standard input has more than ${MAX_BYTES} bytes`]);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new ConfigError(['standard input is not UTF-8 text']);
  }
}

function onlyLine(text: string, what: string): string {
  const line = text.replace(/\r?\n$/, '');
  if (/[\r\n]/.test(line)) throw new ConfigError([`${what}: standard input has more than one line`]);
  return line;
}
