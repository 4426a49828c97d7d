/** Why a service cannot do its work now, for an operator to read; null when it can. A rejection counts as a reason. */
export type ReadinessCheck = () => string | null | Promise<string | null>;

/** Checks by what they look at, such as `the store`. The name begins the reason when a check is late. */
export type ReadinessChecks = Readonly<Record<string, ReadinessCheck>>;

/** How long a check may take. Health checks of containers and Prometheus wait longer. */
export const READINESS_TIMEOUT_MS = 3000;
/** After this time a call that has not settled is given up, and the next request starts another one. */
const ABANDON_MS = 30_000;

interface Call {
  readonly startedAt: number;
  readonly result: Promise<string | null>;
}

/**
 * Runs readiness checks side by side, each bounded in time. Requests that arrive while a check runs share its result,
 * so a dependency that hangs costs one call per check, however often readiness is requested.
 */
export class Readiness {
  readonly #checks: ReadinessChecks;
  readonly #timeoutMs: number;
  readonly #running = new Map<string, Call>();

  /** @param timeoutMs bound of each check, and therefore of `reasons`, milliseconds */
  constructor(checks: ReadinessChecks, timeoutMs = READINESS_TIMEOUT_MS) {
    this.#checks = checks;
    this.#timeoutMs = timeoutMs;
  }

  /** The reasons of all checks that fail, in the order of the checks; empty when the service is ready. Never rejects. */
  async reasons(): Promise<readonly string[]> {
    const results = await Promise.all(Object.keys(this.#checks).map((name) => this.#bounded(name)));
    return results.filter((reason) => reason !== null);
  }

  async #bounded(name: string): Promise<string | null> {
    const late = Promise.withResolvers<string>();
    const reason = `${name} did not answer within ${this.#timeoutMs} ms`;
    const timer = setTimeout(late.resolve, this.#timeoutMs, reason);
    try {
      return await Promise.race([this.#result(name), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #result(name: string): Promise<string | null> {
    const now = performance.now();
    const running = this.#running.get(name);
    if (running !== undefined && now - running.startedAt < ABANDON_MS) return running.result;
    const result = reasonOf(this.#checks[name]!);
    const call: Call = { startedAt: now, result };
    this.#running.set(name, call);
    void result.finally(() => {
      if (this.#running.get(name) === call) this.#running.delete(name);
    });
    return result;
  }
}

async function reasonOf(check: ReadinessCheck): Promise<string | null> {
  try {
    return await check();
  } catch (error) {
    return (error as Error).message;
  }
}
