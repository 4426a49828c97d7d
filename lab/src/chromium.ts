import { execFile } from 'node:child_process';
import { access, constants, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BrowserContext, chromium } from 'playwright-core';

const run = promisify(execFile);

const EXECUTABLES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const INSTALL_TIMEOUT_MS = 600_000;

/** A browser with a profile of its own, which goes with it. */
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
}

/**
 * Path of Chromium on this machine; as root on Debian it is installed when missing.
 *
 * @throws {Error} that says how to get one
 */
export async function findChromium(): Promise<string> {
  const found = await firstExecutable();
  if (found !== null) return found;
  if (process.getuid?.() !== 0 || !(await isDebian())) {
    throw new Error(
      'Chromium is not installed: apt-get install chromium, or your system’s own way to get it',
    );
  }
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    await run('apt-get', ['update'], { env: environment, timeout: INSTALL_TIMEOUT_MS });
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], {
      env: environment,
      timeout: INSTALL_TIMEOUT_MS,
      maxBuffer: 64 * 1024 * 1024,
    });
  } catch (error) {
    throw new Error('Chromium could not be installed: try apt-get update, then apt-get install chromium', {
      cause: error,
    });
  }
  return (
    (await firstExecutable()) ??
    Promise.reject(new Error('chromium is installed, but /usr/bin/chromium is not there'))
  );
}

/** Starts headless Chromium that talks to nobody but the pages it is given. */
export async function launchChromium(options: ChromiumOptions = {}): Promise<Chromium> {
  const executablePath = await findChromium();
  const profile = await mkdtemp(join(tmpdir(), 'tidegauge-chromium-'));
  const removeProfile = () => rm(profile, { recursive: true, force: true, maxRetries: 5 });
  try {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      viewport: options.viewport ?? { width: 1280, height: 800 },
      colorScheme: options.colorScheme ?? 'light',
      locale: 'en-GB',
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
        await removeProfile();
      },
    };
  } catch (error) {
    await removeProfile();
    throw error;
  }
}

async function firstExecutable(): Promise<string | null> {
  for (const path of EXECUTABLES) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return path;
  }
  return null;
}

async function isDebian(): Promise<boolean> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  return /^ID(_LIKE)?=.*debian/m.test(release);
}
