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
/** Grafana writes the chosen value as an SQL text, and `all` as one that fits every name. */
const DEVICES = `($\{device:sqlstring} = '' or s.device = $\{device:sqlstring})`;

/** Of each series the newest reading, by an index look-up each. */
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

/** jsonb_typeof, since attributes are what people wrote. */
const SITES = `
select d.name as "Device", d.site as "Site", d.city as "City",
  (d.attributes ->> 'lat')::float8 as latitude, (d.attributes ->> 'lon')::float8 as longitude
from devices d
where case when jsonb_typeof(d.attributes -> 'lat') = 'number' and jsonb_typeof(d.attributes -> 'lon') = 'number'
  then (d.attributes ->> 'lat')::float8 between -90 and 90 and (d.attributes ->> 'lon')::float8 between -180 and 180
  else false end
order by 1
limit 10000`;

/** Newest first, so that of too many the newest are seen. */
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
 * What Prometheus cannot know, since a device is never a label: the newest values, where devices are, and one
 * device's values over time, asked of PostgreSQL itself by a user who may only read.
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
          'The newest reading of each device and metric. An old time: look for the device, its power, its network.',
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
        .description(
          'Devices with numbers as attributes lat and lon (PUT /v1/devices/NAME). None: nobody said where they are.',
        )
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
        .description(
          'Every value of the device chosen above; a gap is a time without readings. All: choose one.',
        )
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
