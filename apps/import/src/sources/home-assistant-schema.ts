import type { DatabaseSync } from 'node:sqlite';

/** The queries for a version of the recorder's schema: homeassistant/components/recorder/db_schema.py. */
export interface Columns {
  /** The version of the schema and the file, for `ImportSource.version`. */
  readonly version: string;
  /** Rows after an id, ascending. Parameters: the id, and the number of rows. */
  readonly states: string;
  readonly statistics: string;
  /** The largest id of each. */
  readonly last: { readonly states: string; readonly statistics: string };
  /** The attributes of the newest state of an entity that has a value. */
  readonly newest: string;
  /** Names of all entities, and of statistics that are of none, with name and unit. */
  readonly entities: string;
  readonly externals: string;
  /** Numbers of what is not imported. */
  readonly others: readonly { readonly why: string; readonly query: string }[];
}

/** Attributes that are used: the others are not imported. */
const USED = ['unit_of_measurement', 'friendly_name', 'device_class'];

/**
 * Schema 23 had `entity_id` and `last_updated` as texts in each state. Later ones have tables of entities and attributes, and
 * times as seconds. A file that was upgraded can have both, so each row is read from where it is.
 *
 * @throws {Error} when the file is no database of the recorder
 */
export function readSchema(database: DatabaseSync): Columns {
  const columnsOf = (table: string): ReadonlySet<string> =>
    new Set(
      database
        .prepare('select name from pragma_table_info(?)')
        .all(table)
        .map(({ name }) => String(name)),
    );
  const [states, statistics] = [columnsOf('states'), columnsOf('statistics')];
  const statisticsMeta = columnsOf('statistics_meta');
  if (!states.has('state_id') || !states.has('state')) throw new Error('it has no table of states');

  /** The first of the columns that exist and are not null. */
  const firstOf = (table: ReadonlySet<string>, alias: string, ...names: readonly string[]): string => {
    const found = names.filter((name) => table.has(name)).map((name) => `${alias}.${name}`);
    return found.length === 0 ? 'null' : found.length === 1 ? found[0]! : `coalesce(${found.join(', ')})`;
  };
  const hasMeta = columnsOf('states_meta').has('entity_id') && states.has('metadata_id');
  const hasAttributes = columnsOf('state_attributes').has('shared_attrs') && states.has('attributes_id');
  const hasOwn = states.has('entity_id');
  const own = firstOf(states, 's', 'entity_id');
  const ownAttributes = firstOf(states, 's', 'attributes');
  const entity = hasMeta ? `coalesce(m.entity_id, ${own})` : own;
  const attributes = hasAttributes ? `coalesce(a.shared_attrs, ${ownAttributes})` : ownAttributes;
  const joins = [
    hasMeta ? 'left join states_meta m on m.metadata_id = s.metadata_id' : '',
    hasAttributes ? 'left join state_attributes a on a.attributes_id = s.attributes_id' : '',
  ].join(' ');
  const updated = firstOf(states, 's', 'last_updated_ts', 'last_updated');
  const where = hasMeta
    ? 's.metadata_id = (select metadata_id from states_meta where entity_id = ?)'
    : `${own} = ?`;
  const hasStatistics = statistics.has('metadata_id') && statisticsMeta.has('statistic_id');
  const values = ['mean', 'min', 'max', 'state', 'sum'].map(
    (name) => `${firstOf(statistics, 's', name)} as "${name}"`,
  );
  const version = database
    .prepare('select max(schema_version) as version from schema_changes')
    .get()?.version;
  const created = database.prepare('select min(run_id) as run, min(start) as start from recorder_runs').get();

  const others: { why: string; query: string }[] = [];
  if (columnsOf('statistics_short_term').has('id')) {
    others.push({
      why: 'statistics of five minutes, which are computed from states and kept for some days',
      query: 'select null as name, count(*) as count from statistics_short_term',
    });
  }
  if (hasAttributes) {
    others.push({
      why: 'attributes of states, besides units and names',
      query: `select key as name, count(*) as count from state_attributes,
          json_each(case when json_valid(shared_attrs) then shared_attrs else '{}' end)
        where key not in (${USED.map((name) => `'${name}'`).join(', ')})
        group by key order by count(*) desc`,
    });
  }
  if (columnsOf('events').has('event_id'))
    others.push({ why: 'events', query: 'select null as name, count(*) as count from events' });
  for (const column of ['last_reset', 'last_reset_ts', 'mean_weight'].filter((name) =>
    statistics.has(name),
  )) {
    others.push({
      why: `the column ${column} of statistics`,
      query: `select null as name, count(${column}) as count from statistics`,
    });
  }
  return {
    version: JSON.stringify([version ?? null, created?.run ?? null, created?.start ?? null]),
    states: `select s.state_id as id, ${entity} as entity, s.state as state, ${updated} as time,
        ${hasAttributes ? 's.attributes_id' : 'null'} as attributesId, ${attributes} as attributes
      from states s ${joins} where s.state_id > ? order by s.state_id limit ?`,
    statistics: hasStatistics
      ? `select s.id as id, n.statistic_id as statistic, n.source as source, n.unit_of_measurement as unit,
          ${firstOf(statisticsMeta, 'n', 'name')} as name, ${firstOf(statistics, 's', 'start_ts', 'start')} as time,
          ${values.join(', ')}
        from statistics s left join statistics_meta n on n.id = s.metadata_id where s.id > ? order by s.id limit ?`
      : 'select null as id where ? < 0 limit ?',
    last: {
      states: 'select max(state_id) as id from states',
      statistics: hasStatistics ? 'select max(id) as id from statistics' : 'select null as id',
    },
    newest: `select ${attributes} as attributes from states s ${joins}
      where ${where} and s.state not in ('unavailable', 'unknown', '') order by s.state_id desc limit 1`,
    entities: [
      hasMeta ? 'select entity_id as name from states_meta where entity_id is not null' : '',
      hasOwn ? 'select distinct entity_id as name from states where entity_id is not null' : '',
      hasStatistics ? "select statistic_id as name from statistics_meta where source = 'recorder'" : '',
    ]
      .filter((query) => query !== '')
      .join(' union '),
    externals: hasStatistics
      ? `select n.statistic_id as statistic, n.unit_of_measurement as unit, ${firstOf(statisticsMeta, 'n', 'name')} as name
        from statistics_meta n where n.source <> 'recorder'`
      : 'select null as statistic where 0',
    others,
  };
}
