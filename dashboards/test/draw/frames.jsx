import { createDataFrame, FieldType, standardTransformers, transformDataFrame } from '@grafana/data';
import { lastValueFrom } from 'rxjs';

/**
 * The frames of a panel as Grafana's data sources make them from the answers of Prometheus and of OpenTSDB, after the
 * transformations of the panel.
 */
export async function framesOf(panel, answers) {
  const frames = answers.flatMap((answer) => {
    if (answer.dps !== undefined) return [fromOpenTsdb(answer)];
    if (answer.format === 'table') return tableOf(answer, answers.length);
    return answer.result.map((series) => seriesOf(answer, series));
  });
  return lastValueFrom(transformDataFrame(panel.transformations ?? [], frames));
}

/** For `standardTransformersRegistry`. Some have two names. */
export function transformers() {
  return [...new Set(Object.values(standardTransformers))].map((transformation) => ({
    id: transformation.id,
    name: transformation.name,
    transformation,
  }));
}

/** A series of a range query, or one value of an instant query, as Grafana's backend returns it: without points where Prometheus has none. */
function seriesOf({ refId, legendFormat, step }, { metric, value, values = [value] }) {
  const name = legendFormat.replaceAll(/\{\{\s*(.+?)\s*\}\}/g, (_, label) => metric[label] ?? '');
  return createDataFrame({
    refId,
    name,
    fields: [
      {
        name: 'Time',
        type: FieldType.time,
        values: values.map(([time]) => time * 1000),
        config: { interval: step * 1000 },
      },
      {
        name: 'Value',
        type: FieldType.number,
        labels: metric,
        values: values.map(([, value]) => Number(value)),
        config: { displayNameFromDS: name },
      },
    ],
  });
}

/** The result of an instant query as one table: its time, a column for each label, its value. */
function tableOf({ refId, result }, queries) {
  if (result.length === 0) return [];
  const labels = [...new Set(result.flatMap(({ metric }) => Object.keys(metric).toSorted()))];
  return [
    createDataFrame({
      refId,
      fields: [
        { name: 'Time', type: FieldType.time, values: result.map(({ value: [time] }) => time * 1000) },
        ...labels.map((label) => ({
          name: label,
          type: FieldType.string,
          values: result.map(({ metric }) => metric[label] ?? ''),
        })),
        {
          name: queries > 1 ? `Value #${refId}` : 'Value',
          type: FieldType.number,
          values: result.map(({ value: [, value] }) => Number(value)),
        },
      ],
    }),
  ];
}

function fromOpenTsdb({ refId, name, dps }) {
  return createDataFrame({
    refId,
    name,
    fields: [
      { name: 'Time', type: FieldType.time, values: dps.map(([time]) => time) },
      {
        name: 'Value',
        type: FieldType.number,
        values: dps.map(([, value]) => value),
        config: { displayNameFromDS: name },
      },
    ],
  });
}
