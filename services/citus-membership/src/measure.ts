import type { Metrics, Sample } from '@tidegauge/service';
import { type Membership, STATES } from './membership.ts';

// The states of Citus (type citus_task_status).
const TASKS = ['blocked', 'runnable', 'running', 'done', 'error', 'unscheduled', 'cancelled', 'cancelling'];

/** Registers the metrics of the membership. Every label exists from the start. */
export function measure(membership: Membership, metrics: Metrics): void {
  metrics.gauge('citus_membership_workers', 'Workers by state, including those that wait to join', states, [
    'state',
  ]);
  metrics.counter(
    'citus_membership_changes_total',
    'Changes made to the list of workers',
    () => labelled(membership.changes, 'change'),
    ['change'],
  );
  metrics.counter(
    'citus_membership_failures_total',
    'Failures, which are retried',
    () => labelled(membership.failures, 'what'),
    ['what'],
  );
  metrics.gauge('citus_membership_resolved_addresses', 'Addresses in the last answer from DNS', () => [
    { value: membership.resolved },
  ]);
  metrics.gauge(
    'citus_membership_last_resolve_timestamp_seconds',
    'Time when DNS last returned addresses',
    () => timestamp(membership.lastResolve),
  );
  metrics.gauge('citus_membership_last_round_timestamp_seconds', 'Time of the last successful round', () =>
    timestamp(membership.lastRound),
  );
  metrics.gauge('citus_membership_missing_copies', 'Missing copies of shards: start a rebalance', () => [
    { value: membership.view.lacking.reduce((sum, { missing }) => sum + missing, 0) },
  ]);
  metrics.gauge(
    'citus_membership_rebalance_tasks',
    'Moves of shards of the last rebalance, by state',
    () => TASKS.map((state) => ({ labels: { state }, value: membership.view.job?.tasks[state] ?? 0 })),
    ['state'],
  );

  function states(): Sample[] {
    const { members, waiting } = membership.view;
    const count = (state: string): number =>
      state === 'waiting' ? waiting.size : members.filter((member) => member.state === state).length;
    return STATES.map((state) => ({ labels: { state }, value: count(state) }));
  }
}

function labelled(counts: ReadonlyMap<string, number>, name: string): Sample[] {
  return [...counts].map(([label, value]) => ({ labels: { [name]: label }, value }));
}

function timestamp(at: number | null): Sample[] {
  return at === null ? [] : [{ value: at / 1000 }];
}
