import { hash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { now, type Reading } from '@tidegauge/readings';
import { type Config, ConfigError, keepSecret, type Logger } from '@tidegauge/service';
import type { SeriesUnit, Store } from '@tidegauge/storage';
import type { SpoolEntry } from '../spool-entry.ts';
import { type CentreDocument, CentreLink } from './centre-link.ts';
import { type DayRange, RelayLog } from './relay-log.ts';
import { encodeRelayed, RELAYED } from './relayed-lines.ts';
import type { RELAY_SETTINGS } from './settings.ts';

interface RelayOptions {
  /** For the logs of all centres. */
  readonly directory: string;
  readonly store: Store;
  /** The id and the name of this process. */
  readonly id: string;
  readonly name: string;
  readonly logger: Logger;
}

/** Sends what this process commits to its centres. */
export class Relay {
  readonly #links: readonly CentreLink[];

  /** @throws {ConfigError} when the settings or the directory cannot be used */
  constructor(config: Config<typeof RELAY_SETTINGS>, options: RelayOptions) {
    const { relay: given, relayToken: tokens, relayMaxBytes, relayRate: rate } = config;
    const urls = (given ?? []).map(urlOf);
    if (new Set(urls).size < urls.length) throw new ConfigError(['RELAY has the same URL twice']);
    if (tokens !== null && tokens.length !== urls.length)
      throw new ConfigError(['RELAY_TOKEN must have one key for each URL of RELAY']);
    for (const token of tokens ?? []) keepSecret(token);
    const { directory, store, id, name, logger } = options;
    const folders = urls.map((url) => hash('sha256', url, 'hex').slice(0, 16));
    reportOthers(directory, folders, logger);
    this.#links = urls.map((url, index) => {
      const log = new RelayLog(join(directory, folders[index]!), relayMaxBytes, url, logger);
      const token = tokens?.[index] ?? null;
      return new CentreLink({ url, token, rate, log, store, id, name, logger });
    });
  }

  /** Ids of the processes to which this one relays, directly and indirectly, as far as they are known. */
  get beyond(): readonly string[] {
    return this.#links.flatMap(({ beyond }) => beyond);
  }

  get documents(): readonly CentreDocument[] {
    return this.#links.map(({ document }) => document);
  }

  /** Keeps committed readings until the centres have them. Resolves when they are on the disk. Does not reject. */
  readonly append = async (readings: readonly Reading[], units: readonly SeriesUnit[]): Promise<void> => {
    if (readings.length === 0) return;
    const received = now();
    const entries: SpoolEntry[] = [...encodeRelayed(readings, units)].map((payload) => ({
      source: 'http',
      topic: '',
      format: RELAYED,
      payload,
      part: null,
      received,
    }));
    await Promise.all(this.#links.map((link) => link.append(readings, entries)));
  };

  /** Compares days with all centres, as soon as what waits is sent. */
  compare(days: DayRange, device: string | null): void {
    for (const link of this.#links) link.compare(days, device);
  }

  start(): void {
    for (const link of this.#links) link.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#links.map((link) => link.stop()));
  }
}

/** @throws {ConfigError} */
function urlOf(text: string): string {
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw new ConfigError(['RELAY has a user or a password: set RELAY_TOKEN to a key of the centre instead']);
  if (url.search !== '' || url.hash !== '')
    throw new ConfigError(['RELAY has a query or a fragment: write https://centre:8080']);
  return url.href.replace(/\/+$/, '');
}

/** Warns of logs of centres that RELAY does not name any more. */
function reportOthers(directory: string, folders: readonly string[], logger: Logger): void {
  let found: readonly string[] = [];
  try {
    found = readdirSync(directory);
  } catch {
    // There is no log yet.
  }
  for (const name of found.filter((each) => !folders.includes(each))) {
    logger.warn(
      { directory: join(directory, name) },
      'readings can wait here for a centre that RELAY does not name: name it again, or delete the directory',
    );
  }
}
