import { showNumber } from '../results/show-number.ts';

const WIDTH = 24;
const REDRAW_MS = 200;
const LINE_MS = 10_000;

/** Shows progress on standard error: a bar on a terminal, otherwise a line every ten seconds. */
export class Progress {
  readonly #what: string;
  readonly #total: number;
  readonly #skipped: number;
  readonly #terminal = process.stderr.isTTY === true;
  readonly #begun = performance.now();
  #shown = this.#begun;

  /** @param skipped items that existed before the start; they do not count for the rate */
  constructor(what: string, total: number, skipped = 0) {
    this.#what = what;
    this.#total = total;
    this.#skipped = skipped;
  }

  at(done: number): void {
    const now = performance.now();
    if (now - this.#shown < (this.#terminal ? REDRAW_MS : LINE_MS)) return;
    this.#shown = now;
    const line = progressLine(this.#what, done, this.#total, this.#perSecond(done, now));
    process.stderr.write(this.#terminal ? `\r\x1b[K${line}` : `${line}\n`);
  }

  /** Clears the bar and returns the rate per second. */
  end(done: number): number {
    if (this.#terminal) process.stderr.write('\r\x1b[K');
    return this.#perSecond(done, performance.now());
  }

  #perSecond(done: number, now: number): number {
    return ((done - this.#skipped) * 1000) / Math.max(1, now - this.#begun);
  }
}

/** `loading usertable [=====>     ]  43 %  43,000 of 100,000, 3,021/s, 19 s left`. */
export function progressLine(what: string, done: number, total: number, perSecond: number): string {
  const share = total === 0 ? 1 : done / total;
  const filled = Math.round(share * WIDTH);
  const bar = `${'='.repeat(filled)}${filled < WIDTH ? '>' : ''}`.slice(0, WIDTH).padEnd(WIDTH);
  const percent = `${Math.floor(share * 100)}`.padStart(3);
  const count = `${total.toLocaleString('en')}`;
  const left = perSecond > 0 ? `, ${Math.ceil((total - done) / perSecond)} s left` : '';
  return `${what} [${bar}] ${percent} %  ${done.toLocaleString('en')} of ${count}, ${showNumber(perSecond)}/s${left}`;
}
