import { type BrowserContext, chromium } from 'playwright-core';
import { findProgram, lookUp } from './debian.ts';
import { buildPreload } from './preload.ts';

const HEADLESS = 'chromium-headless-shell';

/** A window of a browser. */
export interface Chromium {
  /** It opens pages. Its storage, cookies and cache are separate from those of other windows, and empty at first. */
  readonly context: BrowserContext;
  /** Closes it; the browser of `launchChromium` too. */
  close(): Promise<void>;
}

/** A browser for several windows: its start takes longer than most pages. */
export interface Browser {
  open(options?: WindowOptions): Promise<Chromium>;
  /** Ends the browser and removes its profile. */
  close(): Promise<void>;
}

/** How a window shows a page. */
export interface WindowOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: 'light' | 'dark';
  /** Language and region. They determine the format of numbers and times. */
  readonly locale?: string;
  /** Name of a time zone, such as `Etc/GMT-3`, three hours before UTC. Default: that of the system. */
  readonly timeZone?: string;
  /** Accepts every certificate, for servers of tests whose authority the system does not have. */
  readonly ignoreCertificates?: boolean;
}

export interface BrowserOptions {
  /** Hides changes of the machine's network from the browser. See `steadyNetwork`. */
  readonly steadyNetwork?: boolean;
}

/**
 * Variables for a Chromium that shall not notice when an address of the machine changes. Otherwise it then aborts the
 * requests that wait for a connection, also those to loopback (ERR_NETWORK_CHANGED), and a page can remain without its
 * scripts. Docker changes addresses whenever it starts or ends a container. Linux only: elsewhere there are no variables.
 */
export async function steadyNetwork(): Promise<Readonly<Record<string, string>>> {
  if (process.platform !== 'linux') return {};
  return { LD_PRELOAD: await buildPreload('steady-network') };
}

/**
 * The path of Chromium. Debian's build for headless use needs less processor time; a whole one serves where that is
 * missing.
 *
 * @throws {Error} as `findProgram`
 */
export async function findChromium(): Promise<string> {
  const found = (await lookUp(HEADLESS, [])) ?? (await lookUp('chromium', []));
  return found ?? findProgram(HEADLESS, HEADLESS);
}

/** Starts headless Chromium without background connections: it connects only to the pages that are opened. */
export async function startBrowser(options: BrowserOptions = {}): Promise<Browser> {
  const executablePath = await findChromium();
  const variables = options.steadyNetwork ? await steadyNetwork() : {};
  const browser = await chromium.launch({
    executablePath,
    env: { ...process.env, ...variables },
    args: [
      '--headless=new',
      // Chromium does not start its sandbox as root. Tests in a container run as root.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  });
  return {
    async open({ viewport, colorScheme, locale, timeZone, ignoreCertificates } = {}) {
      const context = await browser.newContext({
        viewport: viewport ?? { width: 1280, height: 800 },
        colorScheme: colorScheme ?? 'light',
        locale: locale ?? 'en-GB',
        ...(timeZone === undefined ? {} : { timezoneId: timeZone }),
        ignoreHTTPSErrors: ignoreCertificates ?? false,
      });
      return { context, close: () => context.close() };
    },
    close: () => browser.close(),
  };
}

/** Starts a browser with one window. */
export async function launchChromium(options: BrowserOptions & WindowOptions = {}): Promise<Chromium> {
  const browser = await startBrowser(options);
  try {
    const { context } = await browser.open(options);
    return { context, close: () => browser.close() };
  } catch (error) {
    await browser.close();
    throw error;
  }
}
