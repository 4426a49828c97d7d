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
import { numbered, toOthers } from '../dashboard.ts';
import { annotations, OPENTSDB, valuesOf } from '../opentsdb.ts';
import { lastAndMax, manySeries } from '../panels.ts';
import { positionMap } from '../position-map.ts';

/** Without a value for so long, a line is interrupted: otherwise the time of a dead sensor is a straight line. */
const DEAD_MS = 15 * 60_000;

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
    .link(toOthers())
    .refresh('10s')
    .time({ from: 'now-1h', to: 'now' })
    .annotation(annotations('Annotations'))
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type(OPENTSDB.type))
    .withVariable(
      new QueryVariableBuilder('metric')
        .label('Metric')
        .datasource(OPENTSDB)
        .query('metrics()')
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .sort(VariableSort.AlphabeticalAsc)
        .includeAll(false)
        .multi(true),
    )
    .withVariable(
      // Without a current value, Grafana chooses the first device.
      new QueryVariableBuilder('device')
        .label('Device')
        .datasource(OPENTSDB)
        .query('tag_values(*, device)')
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .sort(VariableSort.AlphabeticalAsc)
        .includeAll(true)
        .multi(true)
        .allValue('*'),
    )
    // Metrics have different units, so each has its own row.
    .withRow(new RowBuilder('$metric').repeat('metric'))
    .withPanel(
      new table.PanelBuilder()
        .title('Latest values')
        .description(
          'The newest value of the metric in the time shown, for each device. If a device is missing, check its power and its network. A click on a device shows its values on the right.',
        )
        // Raw: other units round.
        .unit('string')
        .datasource(OPENTSDB)
        .span(10)
        .height(12)
        .withTarget(valuesOf('last', '*'))
        // seriesToRows leaves a single series as it is, and a single device is one. These points are older than those above.
        .withTarget(valuesOf('last', '*', { refId: 'B', downsampleInterval: '1h' }))
        // All points as rows (Time, Metric, Value), the newest first; then the first row of each device.
        .withTransformation({ id: 'seriesToRows', options: {} })
        .withTransformation({
          id: 'groupBy',
          options: {
            fields: {
              Metric: { operation: 'groupby', aggregations: [] },
              Time: { operation: 'aggregate', aggregations: ['firstNotNull'] },
              Value: { operation: 'aggregate', aggregations: ['firstNotNull'] },
            },
          },
        })
        .withTransformation({
          id: 'organize',
          options: {
            excludeByName: {},
            indexByName: { Metric: 0, 'Value (firstNotNull)': 1, 'Time (firstNotNull)': 2 },
            renameByName: { Metric: 'Device', 'Value (firstNotNull)': 'Value', 'Time (firstNotNull)': 'Age' },
          },
        })
        // The same order after each refresh.
        .withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: 'Device' }] } })
        .minWidth(80)
        .overrideByName('Age', [
          { id: 'unit', value: 'dateTimeFromNow' },
          // Of `a few seconds ago`, which does not wrap.
          { id: 'custom.width', value: 145 },
        ])
        .overrideByName('Device', [
          { id: 'custom.width', value: 130 },
          { id: 'custom.wrapText', value: true },
          {
            id: 'links',
            value: [
              {
                title: 'Show the values of this device',
                // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variables
                url: '/d/tidegauge-latest?${__url_time_range}&${datasource:queryparam}&${metric:queryparam}&var-device=${__value.text:percentencode}',
              },
            ],
          },
        ]),
    )
    .withPanel(
      new timeseries.PanelBuilder()
        .title('Values')
        .description('The mean value of the metric in each interval of the chart, for each chosen device.')
        .unit('none')
        .datasource(OPENTSDB)
        .span(14)
        .height(12)
        .fillOpacity(10)
        .insertNulls(DEAD_MS)
        .tooltip(manySeries())
        .legend(lastAndMax())
        .withTarget(valuesOf('avg', '$device')),
    )
    // Closed at first, so that its queries do not run without need.
    .withRow(new RowBuilder('Positions of devices').withPanel(positionMap(24, 14))),
);
