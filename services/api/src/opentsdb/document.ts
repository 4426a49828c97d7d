import { toAnnotationDocument } from './annotations.ts';
import type { Points } from './points.ts';
import type { Result } from './query.ts';
import type { Span } from './read-series.ts';

/** Points that are written as one piece of text. */
const PIECE_POINTS = 1000;

export interface DocumentOptions {
  readonly span: Span;
  /** Whether times are seconds instead of milliseconds. */
  readonly inSeconds: boolean;
  /** Whether points are pairs in an array instead of fields of an object. */
  readonly asArrays: boolean;
  /** Whether each result has its query. */
  readonly showQuery: boolean;
}

/** The answer to a query as JSON, in pieces of some kilobytes. */
export function* documentOf(results: Iterable<Result>, options: DocumentOptions): Generator<string> {
  let before = '[';
  for (const { query, tags, aggregateTags, points, annotations } of results) {
    const head = {
      metric: query.metric,
      tags: Object.fromEntries(tags),
      aggregateTags,
      ...(options.showQuery ? { query: query.document } : {}),
      ...(annotations === undefined ? {} : { annotations: annotations.map(toAnnotationDocument) }),
    };
    yield `${before}${JSON.stringify(head).slice(0, -1)},"dps":${options.asArrays ? '[' : '{'}`;
    yield* pointsOf(points, query.downsampling?.fill === 'null' ? 'null' : '"NaN"', options);
    yield options.asArrays ? ']}' : '}}';
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

function* pointsOf(
  points: Points,
  missing: string,
  { span, inSeconds, asArrays }: DocumentOptions,
): Generator<string> {
  const pieces: string[] = [];
  let separator = '';
  for (let index = 0; index < points.length; index += 1) {
    const ms = points.time(index);
    const value = points.value(index);
    // JSON has no infinity: a sum can be larger than the largest double.
    if (ms < span.start || ms > span.end || Math.abs(value) === Number.POSITIVE_INFINITY) continue;
    const time = inSeconds ? Math.floor(ms / 1000) : ms;
    const text = Number.isNaN(value) ? missing : JSON.stringify(value);
    pieces.push(asArrays ? `${separator}[${time},${text}]` : `${separator}"${time}":${text}`);
    separator = ',';
    if (pieces.length === PIECE_POINTS) yield pieces.splice(0).join('');
  }
  yield pieces.join('');
}
