import { temporaryDirectory } from '@tidegauge/process';
import { type BrowserContext, chromium } from 'playwright-core';
import { findProgram } from './debian.ts';
import { buildPreload } from './preload.ts';

/** A browser with a separate profile. */
export interface Chromium {
  /** A persistent context, which opens pages. */
  readonly context: BrowserContext;
  /** Ends the browser and removes its profile. */
  close(): Promise<void>;
}

/** How the browser shows a page. */
export interface ChromiumOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: 'light' | 'dark';
  /** Language and region. They determine the format of numbers and times. */
  readonly locale?: string;
  /** Accepts every certificate, for servers of tests whose authority the system does not have. */
  readonly ignoreCertificates?: boolean;
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

/** Starts headless Chromium without background connections: it connects only to the pages that are opened. */
export async function launchChromium(options: ChromiumOptions = {}): Promise<Chromium> {
  const executablePath = await findProgram('chromium', 'chromium');
  const variables = options.steadyNetwork ? await steadyNetwork() : {};
  const profile = temporaryDirectory('chromium');
  try {
    const context = await chromium.launchPersistentContext(profile.path, {
      executablePath,
      env: { ...process.env, ...variables },
      viewport: options.viewport ?? { width: 1280, height: 800 },
      colorScheme: options.colorScheme ?? 'light',
      locale: options.locale ?? 'en-GB',
      ignoreHTTPSErrors: options.ignoreCertificates ?? false,
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
      context,
      async close() {
        await context.close();
        profile.remove();
      },
    };
  } catch (error) {
    profile.remove();
    throw error;
  }
}
