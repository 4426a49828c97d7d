import { limitOf } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import type { Response } from 'express';
import type { Answers } from '../answers.ts';
import type { Call, Handlers } from '../dispatch.ts';
import { queryOf } from '../parameters.ts';
import { AGGREGATOR_NAMES } from './aggregators.ts';
import { annotationBytes } from './annotations.ts';
import { documentOf } from './document.ts';
import { bad } from './errors.ts';
import { parseExpression, parseSelection } from './expression.ts';
import { FILTER_TYPES, FilterRoom } from './filters.ts';
import { pairsOf, SeriesNames } from './names.ts';
import { Budget } from './points.ts';
import { type Result, runSubQuery } from './query.ts';
import { type SubQueryDocument, subQueryOf } from './sub-query.ts';
import { parseTime } from './time.ts';

/** The version whose requests these are. Clients read it to select their functions. */
const VERSION = '2.4.1';
/** Memory for the points of one query, bytes. */
const QUERY_BYTES = 8 * 2 ** 20;
const QUERY_SECONDS = 30;
/** Default number of suggestions and of series of a lookup, as in OpenTSDB. */
const DEFAULT_COUNT = 25;

interface QueryDocument {
  readonly start: string | number;
  readonly end?: string | number | null;
  readonly queries: readonly SubQueryDocument[];
  readonly msResolution?: boolean | null;
  readonly showQuery?: boolean | null;
  readonly timezone?: string | null;
  readonly useCalendar?: boolean | null;
}

interface UrlQuery {
  readonly start: string;
  readonly end: string;
  readonly m: readonly string[];
  readonly ms: string;
  readonly arrays: string;
  readonly show_query: string;
  readonly timezone: string;
}

/**
 * The read side of OpenTSDB's HTTP API, as Grafana's data source uses it:
 * http://opentsdb.net/docs/build/html/api_http/index.html
 */
export function openTsdbHandlers(store: Store, answers: Answers): Handlers {
  const names = new SeriesNames(store);

  const query = async (call: Call, response: Response, given: QueryDocument) => {
    const now = Date.now();
    const span = {
      start: parseTime(given.start, now, 'start'),
      end:
        given.end === undefined || given.end === null || given.end === ''
          ? now
          : parseTime(given.end, now, 'end'),
    };
    if (span.end < span.start) throw bad('The end time must not be before the start time.');
    const isUtc = /^(UTC|GMT|Etc\/UTC)?$/i.test(given.timezone ?? '');
    if (given.useCalendar === true || !isUtc)
      throw bad('Only intervals of fixed length in UTC are supported.');
    const inSeconds = given.msResolution !== true;
    const results: Result[] = [];
    const done = await answers.read(response, 'query', async () => {
      const budget = new Budget(QUERY_BYTES, QUERY_SECONDS, () => response.destroyed);
      const options = { span, inSeconds, within: limitOf(call), budget };
      const room = new FilterRoom();
      const queries = given.queries.map((each, index) => subQueryOf(each, index, room));
      for (const each of queries) results.push(...(await runSubQuery(store, each, options)));
      return true;
    });
    if (done === null) return;
    const asArrays = queryOf<UrlQuery>(call).arrays !== undefined;
    const sizeOf = ({ points, annotations = [] }: Result) => points.bytes + annotationBytes(annotations);
    const bytes = results.reduce((sum, each) => sum + sizeOf(each), 0);
    const pieces = documentOf(results, { span, inSeconds, asArrays, showQuery: given.showQuery === true });
    await answers.text(response, 'application/json; charset=utf-8', bytes, pieces);
  };

  return {
    tsdbVersion: (_call, response) => {
      response.json({
        version: VERSION,
        short_revision: '',
        full_revision: '',
        timestamp: '0',
        repo_status: 'MINT',
        user: '',
        host: '',
        repo: 'Tidegauge',
      });
    },

    tsdbAggregators: (_call, response) => {
      response.json(AGGREGATOR_NAMES);
    },

    tsdbFilters: (_call, response) => {
      response.json(
        Object.fromEntries(
          Object.entries(FILTER_TYPES).map(([name, { description, examples }]) => [
            name,
            { description, examples },
          ]),
        ),
      );
    },

    tsdbSuggest: async (call, response) => {
      const {
        type,
        q = '',
        max = DEFAULT_COUNT,
      } = queryOf<{
        type: 'metrics' | 'tagk' | 'tagv';
        q: string;
        max: number;
      }>(call);
      const found = await answers.read(response, 'query', () => names.suggest(type!, q, max, limitOf(call)));
      if (found !== null) response.json(found);
    },

    tsdbLookUp: async (call, response) => {
      const { m, limit = DEFAULT_COUNT } = queryOf<{ m: string; limit: number }>(call);
      const selection = parseSelection(m!);
      const started = performance.now();
      const results = await answers.read(response, 'query', () =>
        names.lookUp(selection, limit, limitOf(call), () => response.destroyed),
      );
      if (results === null) return;
      response.json({
        type: 'LOOKUP',
        metric: selection.metric,
        tags: pairsOf(selection),
        limit,
        time: Math.round(performance.now() - started),
        results,
        startIndex: 0,
        totalResults: results.length,
      });
    },

    tsdbQuery: async (call, response) => {
      const { m = [], ms, show_query, ...times } = queryOf<UrlQuery>(call);
      await query(call, response, {
        start: times.start!,
        ...(times.end === undefined ? {} : { end: times.end }),
        ...(times.timezone === undefined ? {} : { timezone: times.timezone }),
        queries: m.map(parseExpression),
        msResolution: ms !== undefined,
        showQuery: show_query !== undefined,
      });
    },

    tsdbPostQuery: (call, response) => query(call, response, call.body as QueryDocument),
  };
}
