import { type RequestOptions, request } from 'node:http';

const ANSWER_MS = 5000;
const MOST_BYTES = 32 * 2 ** 20;

/** The engine does not answer, or it refuses the request. The message is for people. */
export class DockerError extends Error {
  override readonly name = 'DockerError';
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.fix = fix;
  }
}

/** Reads from a Docker engine over its HTTP API. It changes nothing. */
export class DockerApi {
  readonly #host: string;
  readonly #to: RequestOptions;

  /** @param host in the form of DOCKER_HOST: `unix:///var/run/docker.sock` or `tcp://host:port` */
  constructor(host: string) {
    this.#host = host;
    const [, socket, name, port = '2375'] =
      /^(?:unix:\/\/(\/.+)|(?:tcp|http):\/\/([^/:]+)(?::(\d+))?\/?)$/.exec(host) ?? [];
    if (socket === undefined && name === undefined) {
      throw new DockerError(
        `${host} is not the address of a Docker engine`,
        'set --docker-host unix:///var/run/docker.sock or tcp://HOST:PORT',
      );
    }
    this.#to = socket === undefined ? { host: name, port } : { socketPath: socket };
  }

  /** @throws {DockerError} when there is no answer within 5 s, or a status other than 200 */
  get<T>(path: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException): void => reject(this.#explain(error));
      const asking = request({ ...this.#to, path, signal: AbortSignal.timeout(ANSWER_MS) }, (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('error', fail);
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          length += chunk.length;
          if (length > MOST_BYTES) asking.destroy(new Error(`more than ${MOST_BYTES} bytes`));
        });
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode !== 200) reject(refused(path, response.statusCode!, text));
          else resolve(JSON.parse(text) as T);
        });
      });
      asking.on('error', fail);
      asking.end();
    });
  }

  #explain(error: NodeJS.ErrnoException): DockerError {
    const at = `no Docker engine answers at ${this.#host}`;
    if (error.name === 'TimeoutError' || error.code === 'ABORT_ERR') {
      return new DockerError(
        `${at} within ${ANSWER_MS / 1000} s`,
        'run systemctl restart docker, and see journalctl -u docker',
      );
    }
    if (error.code === 'EACCES') {
      return new DockerError(
        `${this.#host} may not be used by this user`,
        'run as root, or: usermod -aG docker USER',
      );
    }
    return new DockerError(
      `${at} (${error.code ?? error.message})`,
      'install Docker (curl -fsSL https://get.docker.com | sh), start it, or set --docker-host; in a container, mount /var/run/docker.sock',
    );
  }
}

function refused(path: string, status: number, text: string): DockerError {
  const message = /"message":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.slice(0, 200);
  return new DockerError(`the engine answers ${status} to ${path}: ${message}`, 'see journalctl -u docker');
}
