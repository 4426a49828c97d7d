import { request } from 'node:https';

/** Where the stacks' API speaks HTTPS. */
const PORT = 8080;
const REQUEST_MS = 30_000;

export interface Request {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Asks the API of a board and resolves to the JSON of its answer; rejects with any other answer, and when its
 * certificate is not of that authority or not for that address.
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
