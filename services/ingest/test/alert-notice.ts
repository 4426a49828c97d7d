import type { Alert } from '../src/alerts/book.ts';
import type { Notice } from '../src/alerts/channel.ts';

/** A message about an alert that began, or ended when `more` has an end. */
export function noticeOf(more: Partial<Alert> = {}): Notice {
  const since = Date.UTC(2026, 10, 21, 14, 5) * 1000;
  const alert: Alert = {
    id: '1'.padStart(24, '0'),
    rule: 'hot',
    severity: 'critical',
    kind: 'above',
    device: 'küche/<a>',
    metric: 'temperature',
    limit: 30,
    value: 31.123456789,
    since,
    raised: since,
    ended: null,
    reason: null,
    due: [],
    ...more,
  };
  return { event: alert.ended === null ? 'raised' : 'ended', alert };
}
