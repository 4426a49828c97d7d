import http, { type Params } from 'k6/http';
import { type Outcome, outcomeOf } from '../src/operations/outcome.ts';
import { plan } from './scenario.ts';

const { url, token } = plan.api ?? { url: '', token: null };
const headers: Record<string, string> = {
  'Content-Type': 'application/json',
  ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
};
const kept: Params = { headers, responseType: 'text' };
const dropped: Params = { headers, responseType: 'none' };

/** Sends one request to the API. The body of the response is returned only with `keep`. */
export function send(
  method: string,
  path: string,
  body: string | null,
  keep = false,
): { readonly outcome: Outcome; readonly body: string | null } {
  const answer = http.request(method, url + path, body, keep ? kept : dropped);
  return { outcome: outcomeOf(answer.status, answer.error_code), body: answer.body as string | null };
}
