import type { BackupsDocument } from '@tidegauge/readings';
import { boundedFetch, Problem, type ProblemDetails } from '@tidegauge/service';

/** A client of the HTTP port of the backup service. */
export class BackupClient {
  readonly #url: string | null;
  readonly #token: string | null;

  /** @param url null: there is no backup service, and every call is refused */
  constructor(url: string | null, token: string | null) {
    this.#url = url;
    this.#token = token;
  }

  /** @throws {Problem} 409 without a backup service, 503 when it does not answer */
  async list(): Promise<BackupsDocument> {
    return (await this.#call('GET')) as BackupsDocument;
  }

  /** Begins a backup. @throws {Problem} as `list` does, and 409 while one is made */
  async request(): Promise<void> {
    await this.#call('POST');
  }

  async #call(method: 'GET' | 'POST'): Promise<unknown> {
    if (this.#url === null) {
      const how = 'start tidegauge backup with --every and --metrics-port, and name its address in BACKUP';
      throw new Problem(409, 'No backup service', `The API has no backup service: ${how}.`);
    }
    const headers = this.#token === null ? {} : { Authorization: `Bearer ${this.#token}` };
    const url = `${new URL(this.#url).origin}/backups`;
    const response = await boundedFetch(url, { method, headers }).catch((error: Error) => {
      throw unavailable(`it does not answer: ${error.message}`);
    });
    const body: unknown = await response.json().catch(() => null);
    if (response.ok && body !== null) return body;
    const { title, detail } = (body ?? {}) as Partial<ProblemDetails>;
    if (response.status === 409 && title !== undefined && detail !== undefined)
      throw new Problem(409, title, detail);
    throw unavailable(`it answered ${response.status}`);
  }
}

function unavailable(why: string): Problem {
  return new Problem(503, 'Backup service unavailable', `The backup service: ${why}.`, { retryAfter: 5 });
}
