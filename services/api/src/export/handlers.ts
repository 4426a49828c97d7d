import { metricNameProblem } from '@tidegauge/readings';
import { demandWithin, type Logger, limitOf, Problem } from '@tidegauge/service';
import type { DeviceFilter, Store } from '@tidegauge/storage';
import type { Answers } from '../answers.ts';
import type { Call, Handlers } from '../dispatch.ts';
import { device, filterOf, invalid, metric, queryOf, time, timesOf } from '../parameters.ts';
import { translate } from '../problems.ts';
import { ReadingUnits } from '../reading-units.ts';
import { csv } from './csv.ts';
import type { ExportFormat } from './format.ts';
import { ndjson } from './ndjson.ts';
import { parquet } from './parquet.ts';
import { type ExportPosition, type ExportSelection, readingsOf } from './selection.ts';
import { sendExport } from './send.ts';

const FORMATS: Readonly<Record<string, ExportFormat>> = { ndjson, csv, parquet };

interface ExportParameters extends DeviceFilter {
  readonly format: string;
  readonly device: readonly string[];
  readonly prefix: string;
  readonly metric: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly afterDevice: string;
  readonly afterMetric: string;
  readonly afterTime: string;
  readonly trailer: boolean;
}

export function exportHandlers(store: Store, answers: Answers, logger: Logger): Handlers {
  const explain = (error: unknown): string => {
    logger.warn({ err: error }, 'export failed');
    const details = error instanceof Problem ? error.details : translate(error);
    return details?.detail ?? 'An unexpected error occurred; the log of this service has the details.';
  };
  return {
    exportReadings: async (call, response) => {
      const query = queryOf<ExportParameters>(call);
      const format = FORMATS[query.format ?? 'ndjson']!;
      const selection = selectionOf(call, query);
      const gzip = format.isText && call.request.acceptsEncodings('gzip') !== false;
      const continues = selection.after !== null;
      const writer = format.write({ continues, trailer: query.trailer ?? format.trailer });
      const readings = readingsOf(store, selection);
      const units = new ReadingUnits(store);
      const { principal } = call;
      // Tokens of a provider often last for minutes only, and would end large exports.
      const isCurrent = () => principal.kind === 'oidc' || principal.isCurrent();
      response.setHeader('Content-Type', `${format.mediaType}${format.isText ? '; charset=utf-8' : ''}`);
      response.setHeader('Content-Disposition', `attachment; filename="readings.${format.extension}"`);
      response.setHeader('Vary', 'Accept-Encoding');
      if (gzip) response.setHeader('Content-Encoding', 'gzip');
      try {
        if (call.request.method === 'HEAD') response.end();
        else
          await sendExport(response, answers, readings, { format, writer, gzip, units, isCurrent, explain });
      } catch (error) {
        // The answer has not begun: it becomes a problem document.
        for (const name of ['Content-Disposition', 'Content-Encoding']) response.removeHeader(name);
        throw error;
      } finally {
        await readings.return(undefined);
      }
    },
  };
}

function selectionOf(call: Call, query: Readonly<Partial<ExportParameters>>): ExportSelection {
  const filter = filterOf(query);
  const { prefix } = query;
  if (query.device !== undefined && (filter !== undefined || prefix !== undefined)) {
    throw invalid('/query/device', 'names devices: leave out prefix, site, city, kind and year, or device');
  }
  const after = positionOf(query);
  if (after !== null && query.format === 'parquet') {
    throw invalid(
      '/query/afterDevice',
      'a Parquet file cannot be continued: export it again, or in parts of time',
    );
  }
  return {
    devices:
      query.device?.map((name, index) => demandWithin(call, device(name, `/query/device/${index}`))) ?? null,
    within: prefix === undefined ? limitOf(call) : demandWithin(call, device(prefix, '/query/prefix')),
    filter: filter ?? {},
    metrics: query.metric?.map((name, index) => metric(name, `/query/metric/${index}`)!) ?? null,
    ...timesOf(query),
    after,
  };
}

/** The position of a continued export; null for a new one. */
function positionOf({
  afterDevice,
  afterMetric,
  afterTime,
}: Readonly<Partial<ExportParameters>>): ExportPosition | null {
  if (afterDevice === undefined && afterMetric === undefined && afterTime === undefined) return null;
  if (afterDevice === undefined || afterMetric === undefined || afterTime === undefined) {
    throw invalid('/query/afterDevice', 'afterDevice, afterMetric and afterTime are given together');
  }
  const problem = metricNameProblem(afterMetric);
  if (problem !== null) throw invalid('/query/afterMetric', problem);
  return {
    device: device(afterDevice, '/query/afterDevice'),
    metric: afterMetric,
    time: time(afterTime, '/query/afterTime')!,
  };
}
