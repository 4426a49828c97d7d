import { now } from '@tidegauge/readings';
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
 * Write timestamps decide which of two writes wins. They are microseconds of the clock of readings, and each one is
 * later than the one before. So of two writes of different processes the later one wins too, as far as their clocks
 * agree. The generator of the driver counts from 0 in each millisecond, in each process. The types of the driver do not
 * have the base class of generators, which it demands.
 */
export class MicrosecondTimestamps extends policies.timestampGeneration.MonotonicTimestampGenerator {
  readonly #now: () => number;
  #last = 0;

  /** @param clock microseconds since the epoch; for tests */
  constructor(clock: () => number = now) {
    super(1000, 0);
    this.#now = clock;
  }

  /** After a step of the clock into the past, timestamps continue in steps of a microsecond. */
  override next(): number {
    this.#last = Math.max(this.#last + 1, this.#now());
    return this.#last;
  }
}

/** The whole process uses one generator, so that its later write always wins. */
export const processTimestamps = new MicrosecondTimestamps();

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
