import { type AlertDocument, type AlertsDocument, formatTime } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import type { Alerts } from './alerts.ts';
import { type Alert, type AlertFilter, type AlertPosition, positionOf } from './book.ts';
import type { Notice } from './channel.ts';
import { SEVERITIES } from './rule.ts';

export interface AlertsQuery extends AlertFilter {
  readonly limit: number;
  readonly after: AlertPosition | null;
}

/** A page of alerts. The counts are those of the devices that the filter lists. */
export function alertsDocument(
  alerts: Alerts,
  instance: string,
  { limit, after, ...filter }: AlertsQuery,
): AlertsDocument {
  const active = { info: 0, warning: 0, critical: 0 };
  const { isConfigured: configured, isEvaluating: evaluating, rules } = alerts;
  const page = { instance, configured, evaluating, rules: rules.length, active };
  for (const { severity, device, ended } of alerts.book.all()) {
    if (ended !== null) break;
    if (filter.isListed(device)) active[severity]++;
  }
  const { alerts: found, more } = alerts.book.list(limit, after, filter);
  const next = more ? positionText(positionOf(found.at(-1)!)) : null;
  return { ...page, alerts: found.map(alertDocument), next };
}

export function alertDocument(alert: Alert): AlertDocument {
  const { since, raised, ended, due: _, ...rest } = alert;
  return {
    ...rest,
    state: ended === null ? 'active' : 'ended',
    since: since === 0 ? null : formatTime(since),
    raised: formatTime(raised),
    ended: ended === null ? null : formatTime(ended),
  };
}

/** The alert as it was when the event happened: it can have ended before its beginning was sent. */
export function noticeDocument({ alert, event }: Notice): AlertDocument {
  return alertDocument(event === 'raised' ? { ...alert, ended: null, reason: null } : alert);
}

/** Reads the query of `GET /alerts`. @throws {Problem} 400 */
export function alertsQuery(
  search: URLSearchParams,
  isListed: (device: string) => boolean,
  limit: number,
): AlertsQuery {
  const after = search.get('after');
  return {
    limit,
    after: after === null ? null : position(after),
    state: choice(search, 'state', ['active', 'ended']),
    rule: search.get('rule'),
    severity: choice(search, 'severity', SEVERITIES),
    isListed,
  };
}

function positionText({ state, at, id }: AlertPosition): string {
  return `${state}.${at}.${id}`;
}

function position(text: string): AlertPosition {
  const [, state, at, id] = /^(active|ended)\.(\d{1,16})\.([0-9a-f]{24})$/.exec(text) ?? [];
  if (id === undefined)
    throw new Problem(400, 'Bad parameter', 'after is not the `next` of a page of alerts.');
  return { state: state as AlertPosition['state'], at: Number(at), id };
}

function choice<T extends string>(search: URLSearchParams, name: string, choices: readonly T[]): T | null {
  const text = search.get(name);
  if (text === null) return null;
  const known = choices.find((each) => each === text);
  if (known !== undefined) return known;
  throw new Problem(400, 'Bad parameter', `${name} must be one of ${choices.join(', ')}.`);
}
