import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { openStore } from '@tidegauge/storage';
import { homeAssistantFile } from '../../src/sources/home-assistant.ts';
import { fileWith, imported, linesOf, pathOf } from '../imports.ts';

/** The tables of schema 43, from homeassistant/components/recorder/db_schema.py, without indexes and contexts. */
const SCHEMA_43 = `
create table schema_changes (change_id integer primary key, schema_version integer, changed datetime);
create table recorder_runs (run_id integer primary key, start datetime, end datetime, closed_incorrect boolean, created datetime);
create table events (event_id integer primary key, event_type char(0), time_fired_ts float, event_type_id integer);
create table states_meta (metadata_id integer primary key, entity_id varchar(255) unique);
create table state_attributes (attributes_id integer primary key, hash bigint, shared_attrs text);
create table states (state_id integer primary key, entity_id char(0), state varchar(255), attributes char(0),
  event_id smallint, last_changed char(0), last_changed_ts float, last_reported_ts float, last_updated char(0),
  last_updated_ts float, old_state_id integer, attributes_id integer, metadata_id integer);
create table statistics_meta (id integer primary key, statistic_id varchar(255) unique, source varchar(32),
  unit_of_measurement varchar(255), has_mean boolean, has_sum boolean, name varchar(255));
create table statistics (id integer primary key, created char(0), created_ts float, metadata_id integer, start char(0),
  start_ts float, mean float, min float, max float, last_reset char(0), last_reset_ts float, state float, sum float);
create table statistics_short_term (id integer primary key, metadata_id integer, start_ts float, mean float);
insert into schema_changes values (1, 43, '2024-03-01 00:00:00');
insert into recorder_runs values (1, '2024-03-01 00:00:00', null, 0, '2024-03-01 00:00:00');
`;

const CONTENT_43 = `
insert into states_meta values (1, 'sensor.outside'), (2, 'binary_sensor.door'), (3, 'climate.hall'), (4, 'sensor.note');
insert into state_attributes values
  (1, 1, '{"unit_of_measurement":"°C","friendly_name":"Outside","device_class":"temperature","state_class":"measurement"}'),
  (2, 2, '{"unit_of_measurement":"°F","friendly_name":"Outside"}'),
  (3, 3, '{"friendly_name":"Door"}'), (4, 4, '{"current_temperature":20.5}'), (5, 5, 'no JSON');
insert into states (state_id, state, last_updated_ts, attributes_id, metadata_id) values
  (1, '70.5', 1709251200.0, 2, 1), (2, '21.5', 1709251260.123456, 1, 1), (3, 'unavailable', 1709251320.5, 1, 1),
  (4, 'unknown', 1709251380.0, 1, 1), (5, '', 1709251440.0, null, 1), (6, 'on', 1709251200.0, 3, 2),
  (7, 'off', 1709251201.0, 3, 2), (8, 'heat', 1709251200.0, 4, 3), (9, 'off', 1709251300.0, 4, 3),
  (10, 'partly cloudy', 1709251200.0, 5, 4), (11, null, 1709251200.0, 5, 4), (12, '1', 1709251200.0, 1, null),
  (13, '21.75', 1709251500.0, 1, 1);
insert into statistics_meta values (1, 'sensor.outside', 'recorder', '°C', 1, 0, null),
  (2, 'energy:total', 'energy', 'kWh', 0, 1, 'Total');
insert into statistics (id, metadata_id, start_ts, mean, min, max, state, sum, last_reset_ts) values
  (1, 1, 1704067200.0, 1.5, -2, 3.25, null, null, null), (2, 2, 1704067200.0, null, null, null, 10, 110.5, 1704000000.0);
insert into statistics_short_term values (1, 1, 1709251200.0, 21), (2, 1, 1709251500.0, 22);
insert into events values (1, null, 1709251200.0, 1);
`;

test('reads states and statistics with units and names, and counts what is no value', async () => {
  const path = pathOf('home-assistant_v2.db');
  const database = new DatabaseSync(path);
  database.exec(`pragma journal_mode = wal; ${SCHEMA_43} ${CONTENT_43}`);
  const store = await openStore('sqlite::memory:');
  // Home Assistant has the file open.
  const { counts, tally, sums } = await imported(store, (received) => homeAssistantFile(path, received));
  database.close();
  assert.deepEqual(await linesOf(store), [
    'binary_sensor/door state 2024-03-01T00:00:00.000000Z 1',
    'binary_sensor/door state 2024-03-01T00:00:01.000000Z 0',
    'climate/hall state 2024-03-01T00:00:00.000000Z "heat"',
    'climate/hall state 2024-03-01T00:01:40.000000Z "off"',
    'energy:total hour.state 2024-01-01T00:00:00.000000Z 10',
    'energy:total hour.sum 2024-01-01T00:00:00.000000Z 110.5',
    'sensor/note state 2024-03-01T00:00:00.000000Z "partly cloudy"',
    'sensor/outside hour.max 2024-01-01T00:00:00.000000Z 3.25',
    'sensor/outside hour.mean 2024-01-01T00:00:00.000000Z 1.5',
    'sensor/outside hour.min 2024-01-01T00:00:00.000000Z -2',
    'sensor/outside state.~C2~B0F 2024-03-01T00:00:00.000000Z 70.5',
    'sensor/outside state 2024-03-01T00:01:00.123456Z 21.5',
    'sensor/outside state 2024-03-01T00:05:00.000000Z 21.75',
  ]);
  assert.deepEqual([counts.written, sums.store.count], [13, 13]);
  const numbers = (reasons: Readonly<Record<string, { readonly count: number }>>) =>
    Object.fromEntries(Object.entries(reasons).map(([why, { count }]) => [why, count]));
  const { skipped, noted, refused } = tally.toDocument();
  assert.deepEqual(numbers(skipped), {
    'statistics of five minutes, which are computed from states and kept for some days': 2,
    'attributes of states, besides units and names': 2,
    events: 1,
    'the column last_reset_ts of statistics': 1,
    'the state is unavailable': 1,
    'the state is unknown': 1,
    'the entity was removed': 2,
  });
  assert.deepEqual([numbers(noted), numbers(refused)], [{}, { 'the state has no entity': 1 }]);
  const series = ['state', 'state.~C2~B0F', 'hour.mean'].map((metric) => ({
    device: 'sensor/outside',
    metric,
  }));
  assert.deepEqual(await store.readings.units(series), ['Cel', '°F', 'Cel']);
  const outside = await store.devices.get('sensor/outside');
  assert.deepEqual([outside?.kind, outside?.attributes], ['temperature', { friendly_name: 'Outside' }]);
  await store.close();
});

test('reads schema 23, which has names, times and attributes in each state', async () => {
  const path = pathOf('schema-23.db');
  const database = new DatabaseSync(path);
  database.exec(`
    create table schema_changes (change_id integer primary key, schema_version integer, changed datetime);
    create table recorder_runs (run_id integer primary key, start datetime, end datetime, closed_incorrect boolean, created datetime);
    create table states (state_id integer primary key, domain varchar(64), entity_id varchar(255), state varchar(255),
      attributes text, event_id integer, last_changed datetime, last_updated datetime, created datetime, old_state_id integer);
    create table statistics_meta (id integer primary key, statistic_id varchar(255), source varchar(32),
      unit_of_measurement varchar(255), has_mean boolean, has_sum boolean);
    create table statistics (id integer primary key, created datetime, start datetime, mean float, min float, max float,
      last_reset datetime, state float, sum float, metadata_id integer);
    insert into schema_changes values (1, 23, '2022-01-01 00:00:00');
    insert into states (state_id, entity_id, state, attributes, last_updated) values
      (1, 'sensor.a', '1.5', '{"unit_of_measurement": "W"}', '2022-01-01 00:00:00.250001');
    insert into statistics_meta values (1, 'sensor.a', 'recorder', 'W', 1, 0);
    insert into statistics (id, start, mean, metadata_id) values (1, '2021-12-31 23:00:00.000000', 2.5, 1);
  `);
  database.close();
  const store = await openStore('sqlite::memory:');
  await imported(store, (received) => homeAssistantFile(path, received));
  assert.deepEqual(await linesOf(store), [
    'sensor/a hour.mean 2021-12-31T23:00:00.000000Z 2.5',
    'sensor/a state 2022-01-01T00:00:00.250001Z 1.5',
  ]);
  assert.deepEqual(await store.readings.units([{ device: 'sensor/a', metric: 'state' }]), ['W']);
  await store.close();
});

test('refuses a file that is no such database', () => {
  const path = fileWith('no.db', 'no database');
  assert.throws(() => homeAssistantFile(path, 0), /no\.db cannot be read as Home Assistant's database: /);
});
