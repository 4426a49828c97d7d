import { isInfluxPath } from './answers.ts';

/**
 * The password in the URL of a request for InfluxDB's paths, the parameter `p` of 1.x; null without one. The user name
 * `u` is not used.
 */
export function influxPassword(url: string): string | null {
  const mark = url.indexOf('?');
  if (mark === -1 || !isInfluxPath(url.slice(0, mark))) return null;
  return new URLSearchParams(url.slice(mark)).get('p') || null;
}
