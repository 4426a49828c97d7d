/** The outcomes of an operation, mostly named as in YCSB's `Status`. The summary shows them as `Return=`. */
export const OUTCOMES = [
  'OK',
  'NOT_FOUND',
  'UNEXPECTED_STATE',
  'EXISTS',
  'BAD_REQUEST',
  'FORBIDDEN',
  'REJECTED',
  'NOT_IMPLEMENTED',
  'SERVICE_UNAVAILABLE',
  'TIMEOUT',
  'CONNECTION',
  'ERROR',
] as const;

export type Outcome = (typeof OUTCOMES)[number];

const BY_STATUS: Readonly<Record<number, Outcome>> = {
  401: 'FORBIDDEN',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  408: 'TIMEOUT',
  409: 'EXISTS',
  422: 'REJECTED',
  429: 'SERVICE_UNAVAILABLE',
  501: 'NOT_IMPLEMENTED',
  503: 'SERVICE_UNAVAILABLE',
  504: 'TIMEOUT',
};

/** k6's error code for "request timeout". Its other codes without an HTTP status are errors of the connection. */
const K6_TIMEOUT = 1050;

/** The outcome for an HTTP status. Status 0 means no response; k6's error code then decides. */
export function outcomeOf(status: number, k6ErrorCode = 0): Outcome {
  if (status === 0) return k6ErrorCode === K6_TIMEOUT ? 'TIMEOUT' : 'CONNECTION';
  if (status >= 200 && status < 300) return 'OK';
  return BY_STATUS[status] ?? (status >= 400 && status < 500 ? 'BAD_REQUEST' : 'ERROR');
}
