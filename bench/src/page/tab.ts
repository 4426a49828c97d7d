import type { Chromium } from '@tidegauge/lab/chromium';

/** A place in the window, CSS pixels. */
export interface Place {
  readonly x: number;
  readonly y: number;
}

/** Longer than any expression of a measurement takes. A tab that crashed does not answer. */
const ANSWER_MS = 120_000;
const WINDOW = { width: 1366, height: 768, deviceScaleFactor: 1, mobile: false } as const;

const LOADED =
  "new Promise((resolve) => document.readyState === 'complete' ? resolve() : addEventListener('load', () => resolve()))";

type Session = Awaited<
  ReturnType<NonNullable<ReturnType<Chromium['context']['browser']>>['newBrowserCDPSession']>
>;
interface Answer {
  readonly id: number;
  readonly result: unknown;
  readonly error?: { readonly message: string };
}

/** Where tabs share a cache, which is empty at first. */
export interface Profile {
  readonly browser: Session;
  readonly context: string;
}

/** Opens a profile that ends with the browser. */
export async function openProfile({ context }: Chromium): Promise<Profile> {
  const browser = await context.browser()!.newBrowserCDPSession();
  const { browserContextId } = await browser.send('Target.createBrowserContext');
  return { browser, context: browserContextId };
}

/**
 * A tab that is controlled by the Chrome DevTools Protocol alone. Playwright watches the network of its pages, and Chromium
 * then keeps up to 100 MB of their answers in the tab, which no visitor's tab has.
 */
export class Tab {
  readonly #browser: Session;
  readonly #target: string;
  readonly #session: string;
  readonly #open = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #receive: (received: { readonly sessionId: string; readonly message: string }) => void;
  #next = 1;

  private constructor(browser: Session, target: string, session: string) {
    this.#browser = browser;
    this.#target = target;
    this.#session = session;
    this.#receive = ({ sessionId, message }) => {
      if (sessionId === session) this.#answer(JSON.parse(message) as Answer);
    };
    browser.on('Target.receivedMessageFromTarget', this.#receive);
  }

  /**
   * Opens an address, and waits until it is loaded.
   *
   * @param script runs before those of the page
   */
  static async open({ browser, context }: Profile, address: string, script: string): Promise<Tab> {
    const { targetId } = await browser.send('Target.createTarget', {
      url: 'about:blank',
      browserContextId: context,
    });
    const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: false });
    const tab = new Tab(browser, targetId, sessionId);
    await tab.#send('Emulation.setDeviceMetricsOverride', WINDOW);
    await tab.#send('Page.enable');
    await tab.#send('Page.addScriptToEvaluateOnNewDocument', { source: script });
    await tab.#send('Page.navigate', { url: address });
    await tab.evaluate(LOADED);
    return tab;
  }

  async close(): Promise<void> {
    this.#browser.off('Target.receivedMessageFromTarget', this.#receive);
    await this.#browser.send('Target.closeTarget', { targetId: this.#target });
  }

  /** The value of an expression, or what its promise resolves to. @throws {Error} it failed */
  async evaluate<T>(expression: string): Promise<T> {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = (await this.#send('Runtime.evaluate', options)) as {
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    };
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async click(at: Place): Promise<void> {
    const button = { ...at, button: 'left', clickCount: 1 };
    await this.#send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...at });
    await this.#send('Input.dispatchMouseEvent', { type: 'mousePressed', ...button });
    await this.#send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...button });
  }

  async wheel(at: Place, deltaY: number): Promise<void> {
    await this.#send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...at });
    await this.#send('Input.dispatchMouseEvent', { type: 'mouseWheel', ...at, deltaX: 0, deltaY });
  }

  /** @param key with a text for a letter, or with a code for another key */
  async press(key: {
    readonly key: string;
    readonly text?: string;
    readonly windowsVirtualKeyCode?: number;
  }): Promise<void> {
    await this.#send('Input.dispatchKeyEvent', { type: 'keyDown', ...key });
    await this.#send('Input.dispatchKeyEvent', { type: 'keyUp', key: key.key });
  }

  /** Collects garbage. Resolves to the bytes of the objects that are left. */
  async collect(): Promise<number> {
    await this.#send('HeapProfiler.collectGarbage');
    const { usedSize } = (await this.#send('Runtime.getHeapUsage')) as { usedSize: number };
    return usedSize;
  }

  /** Ids of all processes that show pages. */
  async processes(): Promise<number[]> {
    const { processInfo } = await this.#browser.send('SystemInfo.getProcessInfo');
    return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
  }

  async #send(method: string, params: object = {}): Promise<unknown> {
    const id = this.#next++;
    const answer = Promise.withResolvers<unknown>();
    this.#open.set(id, answer);
    const message = JSON.stringify({ id, method, params });
    const timer = setTimeout(
      () => answer.reject(new Error(`the tab did not answer ${method} for ${ANSWER_MS / 1000} s`)),
      ANSWER_MS,
    );
    try {
      const sent = this.#browser.send('Target.sendMessageToTarget', { sessionId: this.#session, message });
      const [result] = await Promise.all([answer.promise, sent]);
      return result;
    } finally {
      clearTimeout(timer);
      this.#open.delete(id);
    }
  }

  #answer({ id, result, error }: Answer): void {
    if (error === undefined) this.#open.get(id)?.resolve(result);
    else this.#open.get(id)?.reject(new Error(error.message));
  }
}
