import driver from 'cassandra-driver';

const { policies } = driver;

const MAX_RETRIES = 2;

type OperationInfo = driver.policies.retry.OperationInfo;
type DecisionInfo = driver.policies.retry.DecisionInfo;

/**
 * Idempotent statements (all except the conditional ones of devices) go to the next host after a failure, up to
 * twice: after a failed connection, after a timeout, and when the coordinator lost its copies. Conditional
 * statements are retried only if they cannot have had an effect.
 */
export class NextHostRetryPolicy extends policies.retry.RetryPolicy {
  override onUnavailable(info: OperationInfo): DecisionInfo {
    // Another coordinator may reach more nodes. After that, the error is final.
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
    // Undefined keeps the level. The driver's types do not include it.
    return this.retryResult(undefined as unknown as driver.types.consistencies, false);
  }
}

/**
 * Write timestamps decide which of two writes wins. The whole process uses one generator, so that its later write
 * always wins. Timestamps are milliseconds with a counter.
 */
export const processTimestamps = new policies.timestampGeneration.MonotonicTimestampGenerator(1000, 60_000);

/**
 * The driver's policy (token-aware, the less busy of two hosts). It also collects all hosts that it has seen.
 */
export class RememberingPolicy extends policies.loadBalancing.DefaultLoadBalancingPolicy {
  readonly hosts = new Set<driver.Host>();

  override getDistance(host: driver.Host): driver.types.distance {
    this.hosts.add(host);
    return super.getDistance(host);
  }
}
