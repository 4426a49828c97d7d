import type { QoS } from './publish.ts';

export interface Subscription {
  /** Topic filter, wildcards allowed, without `$share/...`. */
  readonly filter: string;
  /** Highest QoS the broker may deliver with. */
  readonly qos: QoS;
  /** Shares the messages with all sessions of the same group: `$share/<group>/<filter>`. */
  readonly shareGroup?: string;
  /**
   * MQTT 5: whether the broker sends retained messages after SUBSCRIBE: 0 always, 1 only when the subscription is
   * new, 2 never. Default 1, so that a restarted process with an existing session does not receive them again.
   */
  readonly retainHandling?: 0 | 1 | 2;
  /** MQTT 5: keep the publisher's retain flag on live messages. Default false. */
  readonly retainAsPublished?: boolean;
}

/**
 * Subscriptions by filter, with `$share/…`; null when the broker has the subscription and its options are not known.
 */
export type SubscriptionMap = Map<string, Subscription | null>;

/** The filter as it is in SUBSCRIBE. */
export function wireFilter(subscription: Subscription): string {
  const { filter, shareGroup } = subscription;
  return shareGroup === undefined ? filter : `$share/${shareGroup}/${filter}`;
}

/**
 * Why the broker would refuse this subscription as malformed; null when it is valid (MQTT 5, sections 4.7 and 4.8).
 */
export function subscriptionProblem(subscription: Subscription): string | null {
  const { filter, qos, shareGroup } = subscription;
  if (![0, 1, 2].includes(qos)) return `qos must be 0, 1 or 2, not ${qos}`;
  if (filter.length === 0) return 'a topic filter cannot be empty';
  if (Buffer.byteLength(wireFilter(subscription)) > 65535) return 'a topic filter has at most 65535 bytes';
  if (filter.includes('\0')) return 'a topic filter cannot hold U+0000';
  if (shareGroup !== undefined && !/^[^/+#\0]+$/.test(shareGroup)) {
    return `share group ${JSON.stringify(shareGroup)} must be one word without / + #`;
  }
  const levels = filter.split('/');
  for (const [i, level] of levels.entries()) {
    if (level.length > 1 && /[+#]/.test(level)) return `+ and # must stand alone in a level, not ${level}`;
    if (level === '#' && i < levels.length - 1) return '# must be the last level';
  }
  return null;
}

export interface Difference {
  readonly added: readonly Subscription[];
  /** Filters with `$share/…`. */
  readonly removed: readonly string[];
}

/** The filters to subscribe and unsubscribe to change `current` into `desired`. */
export function difference(current: SubscriptionMap, desired: SubscriptionMap): Difference {
  const added: Subscription[] = [];
  for (const [wire, wanted] of desired) {
    if (wanted !== null && !isSame(current.get(wire) ?? null, wanted)) added.push(wanted);
  }
  return { added, removed: [...current.keys()].filter((wire) => !desired.has(wire)) };
}

/** The same filters with unknown options, so each differs from any desired subscription. */
export function withoutOptions(current: SubscriptionMap): SubscriptionMap {
  return new Map([...current.keys()].map((wire) => [wire, null]));
}

function isSame(a: Subscription | null, b: Subscription): boolean {
  return (
    a !== null &&
    a.qos === b.qos &&
    (a.retainHandling ?? 1) === (b.retainHandling ?? 1) &&
    (a.retainAsPublished ?? false) === (b.retainAsPublished ?? false)
  );
}

/** Subscriptions by filter. For two with the same filter the last one counts, as at the broker. */
export function toSubscriptionMap(subscriptions: readonly Subscription[]): SubscriptionMap {
  return new Map(subscriptions.map((subscription) => [wireFilter(subscription), subscription]));
}
