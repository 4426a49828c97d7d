import { request } from 'node:https';

/** The HTTPS port of the stacks' API. */
const PORT = 8080;
const REQUEST_MS = 30_000;

export interface Request {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Sends a request to the API of a board, and resolves to the JSON of a successful answer. Rejects with any other
 * answer, and if the certificate is not from this authority or not for this address.
 */
export function askApi(
  address: string,
  ca: string,
  path: string,
  { method, headers, body }: Request = {},
): Promise<unknown> {
  const signal = AbortSignal.timeout(REQUEST_MS);
  const options = { host: address, port: PORT, path, ca, method, headers, signal };
  return new Promise((resolve, reject) => {
    const asking = request(options, (response) => {
      response
        .toArray()
        .then((chunks) => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode! >= 300) throw new Error(`${path}: ${response.statusCode} ${text}`);
          return JSON.parse(text) as unknown;
        })
        .then(resolve, reject);
    });
    asking.on('error', reject);
    asking.end(body);
  });
}
