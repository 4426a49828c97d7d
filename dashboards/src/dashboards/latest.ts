import {
  type Dashboard,
  DashboardBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';
import { numbered } from '../dashboard.ts';

const SOURCE = { type: 'opentsdb', uid: '$datasource' };

/** The fields of a query of Grafana's OpenTSDB data source that this dashboard sets. */
export interface OpenTsdbTarget {
  readonly metric: string;
  readonly aggregator: string;
  readonly alias: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly downsampleAggregator: string;
  readonly downsampleFillPolicy: string;
}

/**
 * The newest value of a metric of each device, and its values over time. The API answers as OpenTSDB, from any store,
 * because no metric in Prometheus has the device as a label.
 */
export const latest: Dashboard = numbered(
  new DashboardBuilder('Tidegauge / Latest')
    .uid('tidegauge-latest')
    .description('The newest value of each sensor and its values over time, from the store.')
    .tags(['tidegauge'])
    .readonly()
    .refresh('10s')
    .time({ from: 'now-1h', to: 'now' })
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type(SOURCE.type))
    .withVariable(
      new QueryVariableBuilder('metric')
        .label('Metric')
        .datasource(SOURCE)
        .query('metrics()')
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .sort(VariableSort.AlphabeticalAsc),
    )
    .withVariable(
      new QueryVariableBuilder('device')
        .label('Device')
        .datasource(SOURCE)
        .query('tag_values($metric, device)')
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .sort(VariableSort.AlphabeticalAsc)
        .includeAll(true)
        .multi(true)
        .allValue('*')
        .current({ selected: true, text: 'All', value: '$__all' }),
    )
    .withRow(new RowBuilder('Now'))
    .withPanel(
      new table.PanelBuilder()
        .title('Latest values')
        .description(
          'The newest value of the metric in the time shown, for each device. If a device is missing, check its power and its network.',
        )
        .unit('short')
        .datasource(SOURCE)
        .span(24)
        .height(10)
        .withTarget(values('last'))
        .withTransformation({ id: 'reduce', options: { reducers: ['lastNotNull'] } })
        .withTransformation({
          id: 'organize',
          options: { renameByName: { Field: 'Device', 'Last *': 'Value' } },
        }),
    )
    .withRow(new RowBuilder('Over time'))
    .withPanel(
      new timeseries.PanelBuilder()
        .title('Values')
        .description('The mean value of the metric in each interval of the chart, for each device.')
        .unit('short')
        .datasource(SOURCE)
        .span(24)
        .height(12)
        .withTarget(values('avg')),
    ),
);

/** A series for each device that is chosen. @param downsample the aggregator of the values in an interval of the chart */
function values(downsample: 'last' | 'avg') {
  const target: OpenTsdbTarget = {
    metric: '$metric',
    aggregator: 'avg',
    alias: '$tag_device',
    tags: { device: '$device' },
    downsampleAggregator: downsample,
    downsampleFillPolicy: 'none',
  };
  return {
    build: () => ({
      _implementsDataqueryVariant: () => {},
      refId: 'A',
      datasource: SOURCE,
      ...target,
    }),
  };
}
