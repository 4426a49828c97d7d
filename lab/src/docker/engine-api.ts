import { request } from 'node:http';

const ANSWER_MS = 30_000;

/**
 * Sends a GET request to the API of a Docker engine, and resolves to the JSON of its answer.
 *
 * @param socketPath the socket of the engine
 * @param path with its query, such as `/containers/json?all=true`
 * @throws {Error} with the answer when the engine refuses, and when it does not answer within 30 s
 */
export function getFromEngine(socketPath: string, path: string): Promise<unknown> {
  // Each request has its own connection: an engine can end, and another one start at the same path.
  const options = { socketPath, path, agent: false, signal: AbortSignal.timeout(ANSWER_MS) };
  return new Promise((resolve, reject) => {
    const asking = request(options, (response) => {
      response
        .toArray()
        .then((chunks) => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${text.trim()}`);
          return JSON.parse(text) as unknown;
        })
        .then(resolve, reject);
    });
    asking.on('error', reject);
    asking.end();
  });
}
