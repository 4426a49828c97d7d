import { formatTime } from '@tidegauge/readings';
import type { Notice } from './channel.ts';

/** A message for people. */
export interface NoticeText {
  /** One line: the device, and what happened. */
  readonly title: string;
  /** The rule, its severity, and since when. */
  readonly text: string;
}

/** A message about an alert, for people. */
export function noticeText({ event, alert }: Notice): NoticeText {
  const { rule, severity, device, since } = alert;
  if (event === 'test') {
    return { title: 'Test of Tidegauge', text: 'Messages about alerts arrive here.' };
  }
  const what = event === 'raised' ? raised(alert) : ended(alert);
  const begun = since === 0 ? '' : `, since ${formatTime(since).slice(0, 16).replace('T', ' ')} UTC`;
  return { title: `${device}: ${what}`, text: `Rule ${rule}, ${severity}${begun}` };
}

function raised({ kind, metric, value, limit }: Notice['alert']): string {
  if (kind === 'quiet') return `no ${metric ?? 'reading'} for ${spanOf(limit)}`;
  return `${metric} ${numberOf(value ?? limit)} is ${kind} ${numberOf(limit)}`;
}

function ended({ kind, metric, limit, reason }: Notice['alert']): string {
  if (reason === 'removed') return 'alert ended, its rule or device was removed';
  if (kind === 'quiet') return metric === null ? 'reports again' : `reports ${metric} again`;
  return `${metric} is no longer ${kind} ${numberOf(limit)}`;
}

/** Six digits, as no sensor has more. */
function numberOf(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** Seconds as words. */
function spanOf(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}
