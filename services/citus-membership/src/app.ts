import {
  createServiceApp,
  type Logger,
  type Metrics,
  Problem,
  type ReadinessChecks,
  type ServiceOperation,
} from '@tidegauge/service';
import type { Express, RequestHandler } from 'express';
import type { Membership } from './membership.ts';

export interface AppOptions {
  readonly membership: Membership;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** The address that the server will listen on. */
  readonly listen: string;
  /** Bearer token for `POST /rebalance`; null when no login is needed. */
  readonly token: string | null;
  /** The service is not ready when its last successful round is older than this, seconds. */
  readonly staleSeconds: number;
}

/** The HTTP application; it does not listen. */
export function createApp({ membership, staleSeconds, ...options }: AppOptions): Express {
  const checks: ReadinessChecks = {
    'the coordinator': () =>
      isStale(membership.lastRound, staleSeconds) ? 'the coordinator cannot be reached' : null,
    DNS: () => (isStale(membership.lastResolve, staleSeconds) ? 'DNS returns no addresses of workers' : null),
  };
  return createServiceApp({ ...options, checks, operations: membershipOperations(membership) });
}

function membershipOperations(membership: Membership): readonly ServiceOperation[] {
  const workers: RequestHandler = (_request, response) => {
    const { members, waiting } = membership.view;
    response.json({ workers: members, waiting: [...waiting].map(([address, why]) => ({ address, why })) });
  };
  const rebalance: RequestHandler = (_request, response) => void response.json(progress(membership));
  const start: RequestHandler = (_request, response) => {
    const why = membership.startRebalance();
    if (why !== null) throw new Problem(409, 'Cannot rebalance now', `The rebalance cannot start: ${why}.`);
    response.status(202).json(progress(membership));
  };
  return [
    { id: 'listWorkers', method: 'get', path: '/workers', scope: 'read', handlers: [workers] },
    { id: 'getRebalance', method: 'get', path: '/rebalance', scope: 'read', handlers: [rebalance] },
    { id: 'startRebalance', method: 'post', path: '/rebalance', scope: 'admin', handlers: [start] },
  ];
}

function progress({ rebalance, view }: Membership): object {
  return { ...rebalance.progress, lacking: view.lacking, job: view.job };
}

function isStale(at: number | null, staleSeconds: number): boolean {
  return at === null || Date.now() - at > staleSeconds * 1000;
}
