import { temporaryDirectory } from '@tidegauge/process';
import { type BrowserContext, chromium } from 'playwright-core';
import { findProgram } from './debian.ts';

/** A browser with a separate profile, which is removed with it. */
export interface Chromium {
  /** A persistent context: what opens pages. */
  readonly context: BrowserContext;
  /** Ends the browser and removes its profile. */
  close(): Promise<void>;
}

/** How a page is looked at. */
export interface ChromiumOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: 'light' | 'dark';
  /** Language and region, which decide how numbers and times are written. */
  readonly locale?: string;
}

/** Starts headless Chromium that talks to nobody but the pages it is given. */
export async function launchChromium(options: ChromiumOptions = {}): Promise<Chromium> {
  const executablePath = await findProgram('chromium', 'chromium');
  const profile = temporaryDirectory('chromium');
  try {
    const context = await chromium.launchPersistentContext(profile.path, {
      executablePath,
      viewport: options.viewport ?? { width: 1280, height: 800 },
      colorScheme: options.colorScheme ?? 'light',
      locale: options.locale ?? 'en-GB',
      args: [
        '--headless=new',
        // Chromium refuses its sandbox to root, which is who runs tests in a container.
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
