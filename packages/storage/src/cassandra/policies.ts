import driver from 'cassandra-driver';

const { policies } = driver;

const MAX_RETRIES = 2;

type OperationInfo = driver.policies.retry.OperationInfo;
type DecisionInfo = driver.policies.retry.DecisionInfo;

/**
 * Idempotent statements (all but the conditional ones of devices) go to the next host when one fails, up to
 * twice: on a broken connection, on no answer, and when the coordinator lost its copies. Conditional
 * statements go on only where nothing can have happened yet.
 */
export class NextHostRetryPolicy extends policies.retry.RetryPolicy {
  override onUnavailable(info: OperationInfo): DecisionInfo {
    // Another coordinator may know more nodes alive; after that it is so.
    return info.nbRetry === 0 ? this.#nextHost() : this.rethrowResult();
  }

  override onReadTimeout(info: OperationInfo): DecisionInfo {
    return this.#ifIdempotent(info);
  }

  override onWriteTimeout(info: OperationInfo): DecisionInfo {
    return this.#ifIdempotent(info);
  }

  override onRequestError(info: OperationInfo): DecisionInfo {
    return this.#ifIdempotent(info);
  }

  #ifIdempotent(info: OperationInfo): DecisionInfo {
    const again = info.nbRetry < MAX_RETRIES && info.executionOptions.isIdempotent();
    return again ? this.#nextHost() : this.rethrowResult();
  }

  #nextHost(): DecisionInfo {
    // Undefined keeps the level; the driver's types forget that it may.
    return this.retryResult(undefined as unknown as driver.types.consistencies, false);
  }
}

/**
 * Write timestamps decide which of two writes wins. One generator for the whole process, so that of its writes
 * the later one always does; its clock goes by milliseconds, with a counter within.
 */
export const processTimestamps = new policies.timestampGeneration.MonotonicTimestampGenerator(1000, 60_000);

/** The driver's policy (token-aware, the less busy of two), which also remembers every host it was asked about. */
export class RememberingPolicy extends policies.loadBalancing.DefaultLoadBalancingPolicy {
  readonly hosts = new Set<driver.Host>();

  override getDistance(host: driver.Host): driver.types.distance {
    this.hosts.add(host);
    return super.getDistance(host);
  }
}
