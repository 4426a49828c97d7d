import { fileURLToPath } from 'node:url';
import { exitText, type RunningProcess, startProcess } from '@tidegauge/process';
import type { Deployment } from '../model.ts';
import { type DriverAnswer, type DriverRequest, type DriverResults, NOTICE } from './driver-messages.ts';

const PROGRAM = fileURLToPath(new URL('driver.ts', import.meta.url));
const STOP_MS = 5000;
/** An answer with operations has less than half of it, and any other one a few hundred characters. */
const MAX_LINE = 2 ** 20;

/** The driver program ended, or did not answer in time. */
export class DriverDied extends Error {}

/** A driver program, one request at a time. */
export class DriverProcess {
  readonly #process: RunningProcess;
  #line = '';
  #errors = '';
  #answered: ((answer: DriverAnswer) => void) | null = null;
  #noticed: (() => void) | null = null;

  /** Starts it where it reaches the store of the deployment. */
  constructor(deployment: Pick<Deployment, 'command'>) {
    const { command, args } = deployment.command(PROGRAM, []);
    this.#process = startProcess({
      command,
      args,
      stdin: 'pipe',
      stopMs: STOP_MS,
      onOutput: (text, stream) => {
        if (stream === 'stdout') this.#read(text);
        else this.#errors = (this.#errors + text).slice(-4000);
      },
    });
  }

  get pid(): number {
    return this.#process.pid;
  }

  get running(): boolean {
    return this.#process.running;
  }

  /**
   * Sends a request and resolves to its result.
   *
   * @param onNotice called when the run has done the operations of `noticeAt`
   * @throws {DriverDied} when the program has ended, and after `timeoutMs`: the program is then killed
   * @throws {Error} when the request failed; `code` is that of a system error
   */
  async request<C extends DriverRequest['command']>(
    message: Extract<DriverRequest, { readonly command: C }>,
    timeoutMs: number,
    signal?: AbortSignal,
    onNotice?: () => void,
  ): Promise<DriverResults[C]> {
    if (!this.running) throw new DriverDied(await this.#reason());
    const { promise, resolve, reject } = Promise.withResolvers<DriverAnswer>();
    this.#answered = resolve;
    this.#noticed = onNotice ?? null;
    const late = setTimeout(() => {
      const seconds = Math.round(timeoutMs / 1000);
      reject(new DriverDied(`the driver did not complete ${message.command} within ${seconds} s`));
    }, timeoutMs);
    const stop = () => reject(signal!.reason);
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    void this.#process.exited.then(async () => reject(new DriverDied(await this.#reason())));
    this.#process.child.stdin!.write(`${JSON.stringify(message)}\n`);
    try {
      const answer = await promise;
      if (!answer.ok) throw Object.assign(new Error(answer.error), { code: answer.code });
      return answer.result as DriverResults[C];
    } catch (error) {
      // Its answer would be taken for that of the next request.
      if (error instanceof DriverDied || signal?.aborted) await this.#process.kill();
      throw error;
    } finally {
      clearTimeout(late);
      signal?.removeEventListener('abort', stop);
      this.#answered = null;
      this.#noticed = null;
    }
  }

  /** Ends the program; with SIGKILL after five seconds. */
  async stop(): Promise<void> {
    this.#process.child.stdin?.end();
    await this.#process.stop();
  }

  /** How the program ended, with the last line of its standard error. */
  async #reason(): Promise<string> {
    const exit = exitText(await this.#process.exited);
    const last = this.#errors.trim().split('\n').at(-1) ?? '';
    return `the driver ended early (${exit})${last === '' ? '' : `: ${last}`}`;
  }

  #read(text: string): void {
    this.#line += text;
    for (let end = this.#line.indexOf('\n'); end !== -1; end = this.#line.indexOf('\n')) {
      const line = this.#line.slice(0, end);
      this.#line = this.#line.slice(end + 1);
      if (line === NOTICE) this.#noticed?.();
      const answer = answerOf(line);
      if (answer !== null) this.#answered?.(answer);
    }
    if (this.#line.length > MAX_LINE) this.#line = '';
  }
}

/** A library may write to standard output, so other lines are skipped. */
function answerOf(line: string): DriverAnswer | null {
  try {
    const value = JSON.parse(line) as DriverAnswer;
    return typeof value.ok === 'boolean' ? value : null;
  } catch {
    return null;
  }
}
