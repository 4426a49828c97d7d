import { Agent, request } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { whyFailed } from '@tidegauge/service/program';
import { maskUrl } from '@tidegauge/text';

const TIMEOUT_MS = 60_000;
/** Characters of a body in an error. */
const MOST_SHOWN = 200;

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** Why a request was refused: the status, and the detail of a problem document or the start of another body. */
export function refusalIn({ status, body }: HttpAnswer): string {
  try {
    const { detail } = JSON.parse(body) as { readonly detail?: unknown };
    if (typeof detail === 'string') return `${status}: ${detail}`;
  } catch {
    // For example the page of a proxy.
  }
  return `${status} ${body.slice(0, MOST_SHOWN)}`.trim();
}

/**
 * Sends requests to one API, by default over connections that stay open. It costs a third of the processor time of fetch. It trusts
 * the certificate authorities that Node.js trusts, with those of NODE_EXTRA_CA_CERTS.
 */
export class HttpClient {
  readonly #agent: Agent;
  readonly #httpsAgent: HttpsAgent;
  readonly #headers: Readonly<Record<string, string>>;

  /**
   * @param authority the only authority that is trusted (PEM). Default: those that Node.js trusts
   * @param keepAlive false: each request opens a connection and closes it
   */
  constructor(
    connections: number,
    token: string | null,
    { authority, keepAlive = true }: { readonly authority?: string; readonly keepAlive?: boolean } = {},
  ) {
    const options = { keepAlive, maxSockets: connections };
    this.#agent = new Agent(options);
    this.#httpsAgent = new HttpsAgent(authority === undefined ? options : { ...options, ca: authority });
    this.#headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  }

  /** Rejects when the connection fails, or when it is idle for a minute before the response. */
  async send(method: string, url: string, body?: string): Promise<HttpAnswer> {
    const headers: Record<string, string> = { ...this.#headers };
    if (body !== undefined) {
      headers['Content-Type'] = 'application/json';
      headers['Content-Length'] = String(Buffer.byteLength(body));
    }
    return new Promise((resolve, reject) => {
      const common = { method, headers, timeout: TIMEOUT_MS };
      const outgoing = url.startsWith('https:')
        ? requestHttps(url, { ...common, agent: this.#httpsAgent })
        : request(url, { ...common, agent: this.#agent });
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
      outgoing.on('error', (error) => {
        reject(new Error(`${method} ${maskUrl(url)} failed: ${whyFailed(error)}`, { cause: error }));
      });
      outgoing.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode!, body: text }));
      });
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
    this.#httpsAgent.destroy();
  }
}
