import { statSync } from 'node:fs';
import { ConfigError, fileVersion, type Logger, poll } from '@tidegauge/service';
import type { AckPolicy, Route, Router } from './routes.ts';
import { appendRoute, parseRoutes, readRoutesText } from './routes-file.ts';
import { FileNotReplaced, replaceFile } from './routes-writer.ts';

const POLL_MS = 2000;

export interface RouteReloaderOptions {
  /** The routes file. It need not exist. */
  readonly file: string;
  /** The acknowledgement policy of routes without one. */
  readonly ack: AckPolicy;
  readonly router: Router;
  /** Throws a ConfigError when the routes cannot be used with the other settings. */
  readonly check?: (routes: readonly Route[]) => void;
  /** Changes the subscriptions of the broker session. Resolves when the broker has confirmed. */
  readonly subscribe: (routes: readonly Route[]) => Promise<void>;
  readonly logger: Logger;
  /** How often the file is checked for a change. */
  readonly pollMs?: number;
}

/**
 * Uses a changed routes file without a restart. New topics are subscribed to before topics of removed routes are
 * unsubscribed, and until the broker has confirmed that, the removed routes still decode their messages. So a message
 * that was acknowledged to its publisher is neither lost nor quarantined by the change. A file with a mistake changes
 * nothing.
 */
export class RouteReloader {
  /** Files that were used, and files that were refused, since the start. */
  readonly counts = { used: 0, refused: 0 };
  readonly #options: RouteReloaderOptions;
  #trouble: string | null = null;
  /** Whether the file had content. */
  #hadText = false;
  #version = '';
  #last: Promise<void> = Promise.resolve();
  #generation = 0;
  #endPoll = () => {};

  constructor(options: RouteReloaderOptions) {
    this.#options = options;
  }

  /** Why the routes in use are not those of the file; null when they are. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** `trouble` without the content of the file, for answers that need no login; null without trouble. */
  get warning(): string | null {
    return this.#trouble === null
      ? null
      : 'the routes in use are not those of the routes file: GET /routes and the log have the reason';
  }

  /** Begins to watch the file. The routes in use are those of its present content. */
  watch(): void {
    const { file, pollMs = POLL_MS } = this.#options;
    this.#version = fileVersion(file);
    this.#hadText = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
    this.#endPoll = poll(() => this.#look(), pollMs);
  }

  stop(): void {
    this.#endPoll();
    this.#generation++;
  }

  /**
   * Reads the file and uses its routes. Resolves when they decode; subscriptions follow.
   *
   * @throws {ConfigError} when the file has mistakes; the routes in use stay
   */
  reload(): Promise<void> {
    const next = this.#last.then(() => this.#reload());
    this.#last = next.catch(() => {});
    return next;
  }

  /**
   * Adds an entry at the end of the file, which it creates if there is none, and uses its routes.
   *
   * @returns false when the file had an equal entry before
   * @throws {ConfigError} when the file has mistakes, or would have some; it is not changed then
   * @throws {FileNotReplaced} when the file cannot be written
   */
  add(entry: object): Promise<boolean> {
    const next = this.#last.then(() => this.#add(entry));
    this.#last = next.then(
      () => {},
      () => {},
    );
    return next;
  }

  async #add(entry: object): Promise<boolean> {
    const { file, ack, check, logger } = this.#options;
    const version = fileVersion(file);
    const changed = appendRoute(this.#read(), file, entry);
    if (changed !== null) {
      const { routes } = parseRoutes(changed, file, ack, this.#options.router.zone);
      check?.(routes);
      if (fileVersion(file) !== version)
        throw new FileNotReplaced(`${file} was changed at the same time: send the request again`);
      await replaceFile(file, changed);
      logger.info({ file }, 'a route was added to the routes file');
    }
    await this.#reload();
    return changed !== null;
  }

  async #look(): Promise<void> {
    if (fileVersion(this.#options.file) === this.#version) return;
    await this.reload().catch(() => {});
  }

  async #reload(): Promise<void> {
    const { file, ack, router, logger } = this.#options;
    this.#version = fileVersion(file);
    try {
      const text = this.#read();
      const { routes, warnings } = parseRoutes(text, file, ack, router.zone);
      this.#options.check?.(routes);
      this.#hadText = text !== '';
      for (const warning of warnings) logger.warn({ warning }, 'a route may be wrong');
      const leaving = router.routes;
      router.replace(routes, leaving);
      this.counts.used++;
      this.#trouble = null;
      logger.info({ file, routes: router.routes.length }, 'routes reloaded');
      void this.#subscribe(++this.#generation);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.counts.refused++;
      this.#trouble = `the routes file is not used: ${error.message}`;
      logger.error(
        { file, problems: error.problems },
        'the routes file has mistakes: the old routes stay in use',
      );
      throw error;
    }
  }

  /**
   * The text of the file. A file that had routes cannot become missing or empty, because an editor may remove or
   * truncate it before it writes the new content.
   *
   * @throws {ConfigError}
   */
  #read(): string {
    const { file } = this.#options;
    const text = readRoutesText(file);
    if (text !== '' || !this.#hadText) return text;
    throw new ConfigError([
      `${file}: it is missing or empty: write [] to use the default route again, or restart ingest`,
    ]);
  }

  /** Subscribes to the topics of the current routes, and then ends the removed routes. */
  async #subscribe(generation: number): Promise<void> {
    const { router, subscribe, logger } = this.#options;
    try {
      await subscribe(router.routes);
    } catch (error) {
      if (generation !== this.#generation) return;
      const { message } = error as Error;
      this.#trouble = `the broker did not accept the subscriptions of the routes: ${message}`;
      logger.error({ reason: message }, 'the broker did not accept the subscriptions of the routes');
    }
    if (generation === this.#generation) router.endLeaving();
  }
}
