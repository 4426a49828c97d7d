import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@tidegauge/process';
import { memoryOf } from '@tidegauge/test-support/process-usage';
import { type Place, type Profile, Tab } from './tab.ts';

/** Times from an input to what it changes in the history view, milliseconds. */
export interface Step {
  /** The first frame that shows values in the new time. */
  readonly drawnMs: number;
  /** The first frame without a part that is still being read. */
  readonly completeMs: number;
  /** The first frame in which the table has the figures of the new time as well. */
  readonly settledMs: number;
}

/** Memory of a tab, bytes. */
export interface TabMemory {
  /** Of its process, without files such as the program. */
  readonly process: number;
  /** Objects of JavaScript after a collection. */
  readonly heap: number;
}

const WAIT = { timeoutMs: 60_000, pollMs: 50 };
const SURFACE = '#history-surface';
/** Between two keys of a search. */
const KEY_MS = 50;
/** The wheel's distance that doubles the time shown (services/api/public/gestures.js), pixels. */
const DOUBLING = 240;

/**
 * Runs in the page. An input begins at its time stamp, before any code of the page handles it. A frame ends in a task
 * after its callbacks, when it has been drawn.
 */
const METER = `globalThis.meter = (() => {
  const WAIT_MS = 60_000;
  let begun = null;
  let longest = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
  }).observe({ type: 'longtask', buffered: true });
  for (const type of ['click', 'wheel'])
    addEventListener(type, ({ timeStamp }) => { begun ??= timeStamp; }, { capture: true, passive: true });
  const { port1, port2 } = new MessageChannel();
  const frame = () => new Promise((resolve) => {
    port1.onmessage = resolve;
    requestAnimationFrame(() => port2.postMessage(null));
  });
  const element = (id) => document.getElementById(id);
  const isBusy = () => document.querySelector('#history [aria-busy="true"]') !== null;
  const follow = async () => {
    begun = null;
    const before = { span: element('history-span').textContent, hash: location.hash };
    const found = {};
    for (const end = performance.now() + WAIT_MS; performance.now() < end; ) {
      await frame();
      if (begun === null || element('history-span').textContent === before.span) continue;
      const since = performance.now() - begun;
      if (element('history-none').hidden) found.drawnMs ??= since;
      if (element('history-plot').getAttribute('aria-busy') === 'false') found.completeMs ??= since;
      const isWhole = found.drawnMs !== undefined && found.completeMs !== undefined;
      if (isWhole && location.hash !== before.hash && !isBusy()) return { ...found, settledMs: since };
    }
    throw new Error('the view was not complete after a minute: ' + JSON.stringify(found));
  };
  return {
    watch() {
      this.step = follow();
      this.step.catch(() => {});
    },
    isSettled: (rows) => !isBusy() && element('history-rows').rows.length === rows,
    listed: () => document.body.dataset.loading === undefined && element('sensor-count').textContent,
    takeLongest() {
      const found = longest;
      longest = 0;
      return found;
    },
  };
})()`;

/** The live page in a browser, with measurements of what an input changes. */
export class WatchedPage {
  readonly #tab: Tab;

  private constructor(tab: Tab) {
    this.#tab = tab;
  }

  /** Opens an address of the page in a new tab. */
  static async open(profile: Profile, address: string): Promise<WatchedPage> {
    return new WatchedPage(await Tab.open(profile, address, METER));
  }

  close(): Promise<void> {
    return this.#tab.close();
  }

  /** Waits until the history view has so many lines, and nothing of it is being read. */
  async settled(lines: number): Promise<void> {
    await waitUntil(`${lines} lines`, () => this.#tab.evaluate(`meter.isSettled(${lines})`), WAIT);
  }

  /** Clicks on the button of a range, such as `All`. */
  range(label: string): Promise<Step> {
    const buttons = '[...document.querySelectorAll("#history-ranges button")]';
    const button = `${buttons}.find((each) => each.textContent.trim() === ${JSON.stringify(label)})`;
    return this.#step(async () => this.#tab.click(await this.#middleOf(button)));
  }

  /** Turns the wheel at a share of the chart's width, from 0 to 1, so that the time shown is halved, or doubled. */
  async zoom(direction: 'in' | 'out', share: number): Promise<Step> {
    const at = await this.#placeIn(`document.querySelector('${SURFACE}')`, share, 0.5);
    return this.#step(() => this.#tab.wheel(at, direction === 'in' ? -DOUBLING : DOUBLING));
  }

  /** Waits until the list has all sensors. Resolves to the time since the page was opened, milliseconds. */
  async listed(sensors: number): Promise<number> {
    const wanted = JSON.stringify(sensors.toLocaleString('en'));
    const isListed = () => this.#tab.evaluate<boolean>(`meter.listed() === ${wanted}`);
    await waitUntil(`${sensors} sensors in the list`, isListed, WAIT);
    return this.#tab.evaluate('performance.now()');
  }

  /** Scrolls the list of sensors, notch by notch. */
  async scrollList(notches: number): Promise<void> {
    const list = "document.querySelector('#sensor-list')";
    const [at, height] = [
      await this.#middleOf(list),
      await this.#tab.evaluate<number>(`${list}.clientHeight`),
    ];
    for (let notch = 0; notch < notches; notch += 1) {
      await this.#tab.wheel(at, height);
      await this.pause(100);
    }
  }

  /** Types words into the search box, and removes them again. */
  async search(words: string): Promise<void> {
    await this.#tab.click(await this.#middleOf("document.querySelector('#search')"));
    for (const letter of words) await this.#type({ key: letter, text: letter });
    for (const _ of words) await this.#type({ key: 'Backspace', windowsVirtualKeyCode: 8 });
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms);
  }

  /** The longest task since the last call, milliseconds. Tasks of up to 50 ms count as 0. */
  takeLongest(): Promise<number> {
    return this.#tab.evaluate('meter.takeLongest()');
  }

  async memory(): Promise<TabMemory> {
    const heap = await this.#tab.collect();
    // Chromium keeps a spare process, which is smaller.
    const processes = await this.#tab.processes();
    return { process: Math.max(...processes.map((id) => memoryOf(id).anonymous)), heap };
  }

  async #step(act: () => Promise<void>): Promise<Step> {
    await this.#tab.evaluate('meter.watch()');
    await act();
    return this.#tab.evaluate('meter.step');
  }

  async #type(key: Parameters<Tab['press']>[0]): Promise<void> {
    await this.#tab.press(key);
    await this.pause(KEY_MS);
  }

  #middleOf(element: string): Promise<Place> {
    return this.#placeIn(element, 0.5, 0.5);
  }

  /** @param element an expression */
  async #placeIn(element: string, across: number, down: number): Promise<Place> {
    const of = `{ x: box.x + ${across} * box.width, y: box.y + ${down} * box.height }`;
    return this.#tab.evaluate(`((box) => (${of}))(${element}.getBoundingClientRect())`);
  }
}
