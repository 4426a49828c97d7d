import type { components } from './generated/api.ts';

/** The body of an error (RFC 9457). */
export type Problem = components['schemas']['Problem'];

/** The API refused a request, or could not answer it. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  /** The HTTP status. */
  readonly status: number;
  /** The problem document; null when the answer is not from the API, such as one of a proxy. */
  readonly problem: Problem | null;
  /** The wait before the next try that the API requests (Retry-After), milliseconds; null without one. */
  readonly retryAfterMs: number | null;

  constructor(response: Response, body: unknown) {
    const problem = isProblem(body) ? body : null;
    super(
      problem === null
        ? `HTTP ${response.status} from ${response.url}`
        : `${problem.title} (${response.status}): ${problem.detail}`,
    );
    this.status = response.status;
    this.problem = problem;
    const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
    this.retryAfterMs = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
  }
}

/** The data of an answer of the typed requests. @throws {ProblemError} when the API answered with an error */
export function dataOf<T>(answer: {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}): T {
  if (answer.response.ok) return answer.data as T;
  throw new ProblemError(answer.response, answer.error);
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'title' in body && 'detail' in body;
}
