import { FrameGeometrySourceMode } from '@grafana/grafana-foundation-sdk/common';
import {
  type Dashboard,
  DashboardBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard';
import * as geomap from '@grafana/grafana-foundation-sdk/geomap';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';
import { numbered } from '../dashboard.ts';

const SOURCE = { type: 'grafana-postgresql-datasource', uid: '$datasource' };
/** Grafana inserts the chosen device as an SQL string. An empty string chooses all devices. */
const DEVICES = `($\{device:sqlstring} = '' or s.device = $\{device:sqlstring})`;

/** The newest reading of each series, with one index lookup per series. */
const LATEST = `
select s.device as "Device", s.metric as "Metric", to_timestamp(r.time / 1e6) as "Time",
  coalesce(r.value::text, r.text) as "Value"
from series s
cross join lateral (
  select time, value, text from readings where series = s.id order by time desc limit 1
) r
where ${DEVICES}
order by r.time desc
limit 1000`;

/** Users write the attributes, so their types must be checked. */
const SITES = `
select d.name as "Device", d.site as "Site", d.city as "City",
  (d.attributes ->> 'lat')::float8 as latitude, (d.attributes ->> 'lon')::float8 as longitude
from devices d
where case when jsonb_typeof(d.attributes -> 'lat') = 'number' and jsonb_typeof(d.attributes -> 'lon') = 'number'
  then (d.attributes ->> 'lat')::float8 between -90 and 90 and (d.attributes ->> 'lon')::float8 between -180 and 180
  else false end
order by 1
limit 10000`;

/** The newest values first: the limit then removes the oldest ones. */
const VALUES = `
select to_timestamp(v.time / 1e6) as time, v.metric, v.value
from (
  select r.time, s.metric, r.value
  from series s
  join readings r on r.series = s.id
  where s.device = $\{device:sqlstring} and r.value is not null
    and r.time between $__unixEpochNanoFrom() / 1000 and $__unixEpochNanoTo() / 1000
  order by r.time desc
  limit 20000
) v
order by 1`;

const CHOICES = `
select '' as __value, 'All' as __text
union all
(select distinct device, device from series order by 1 limit 5000)`;

const MARKERS = {
  type: 'markers',
  name: 'Devices',
  location: { mode: FrameGeometrySourceMode.Coords, latitude: 'latitude', longitude: 'longitude' },
  tooltip: true,
};

/**
 * The newest values, the locations of devices, and the values of one device over time. They come from PostgreSQL, by a
 * user who can only read, because no metric in Prometheus has the device as a label.
 */
export const latest: Dashboard = numbered(
  new DashboardBuilder('Tidegauge / Latest')
    .uid('tidegauge-latest')
    .description('The newest value of each sensor and where it is, from the store (PostgreSQL).')
    .tags(['tidegauge'])
    .readonly()
    .refresh('10s')
    .time({ from: 'now-1h', to: 'now' })
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type(SOURCE.type))
    .withVariable(
      new QueryVariableBuilder('device')
        .label('Device')
        .datasource(SOURCE)
        .query(CHOICES.trim())
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .current({ selected: true, text: 'All', value: '' }),
    )
    .withRow(new RowBuilder('Now'))
    .withPanel(
      new table.PanelBuilder()
        .title('Latest values')
        .description(
          'The newest reading of each device and metric. If its time is old, check the power and the network of the device.',
        )
        .unit('short')
        .datasource(SOURCE)
        .span(12)
        .height(12)
        .withTarget(sql(LATEST, 'table')),
    )
    .withPanel(
      new geomap.PanelBuilder()
        .title('Sites')
        .description('Devices with the numeric attributes lat and lon. Set them with PUT /v1/devices/NAME.')
        .unit('short')
        .datasource(SOURCE)
        .view(new geomap.MapViewConfigBuilder().id('fit').allLayers(true))
        .basemap({ build: () => ({ type: 'default', name: 'Map' }) })
        .layers([{ build: () => MARKERS }])
        .span(12)
        .height(12)
        .withTarget(sql(SITES, 'table')),
    )
    .withRow(new RowBuilder('One device'))
    .withPanel(
      new timeseries.PanelBuilder()
        .title('Values')
        .description('Every value of the device that is chosen above. Choose one device: All shows nothing.')
        .unit('short')
        .datasource(SOURCE)
        .span(24)
        .height(10)
        .withTarget(sql(VALUES, 'time_series')),
    ),
);

function sql(text: string, format: 'table' | 'time_series') {
  return {
    build: () => ({
      _implementsDataqueryVariant: () => {},
      refId: 'A',
      datasource: SOURCE,
      editorMode: 'code',
      rawQuery: true,
      rawSql: text.trim(),
      format,
    }),
  };
}
