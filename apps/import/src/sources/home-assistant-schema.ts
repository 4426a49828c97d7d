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
  const states = columnsOf('states');
  if (!states.has('state_id') || !states.has('state')) throw new Error('it has no table of states');
  const version = database
    .prepare('select max(schema_version) as version from schema_changes')
    .get()?.version;
  const created = database.prepare('select min(run_id) as run, min(start) as start from recorder_runs').get();
  const ofStates = statesOf(columnsOf);
  const ofStatistics = statisticsOf(columnsOf);
  return {
    version: JSON.stringify([version ?? null, created?.run ?? null, created?.start ?? null]),
    states: ofStates.rows,
    statistics: ofStatistics.rows,
    last: { states: 'select max(state_id) as id from states', statistics: ofStatistics.last },
    newest: ofStates.newest,
    entities: [...ofStates.entities, ...ofStatistics.entities].join(' union '),
    externals: ofStatistics.externals,
    others: OTHERS.filter(({ needs }) => needs.every(([table, column]) => columnsOf(table).has(column))),
  };
}

interface Other {
  /** The columns without which there is nothing to count. */
  readonly needs: readonly (readonly [table: string, column: string])[];
  readonly why: string;
  readonly query: string;
}

/** What is not imported. */
const OTHERS: readonly Other[] = [
  {
    needs: [['statistics_short_term', 'id']],
    why: 'statistics of five minutes, which are computed from states and kept for some days',
    query: 'select null as name, count(*) as count from statistics_short_term',
  },
  {
    needs: [
      ['state_attributes', 'shared_attrs'],
      ['states', 'attributes_id'],
    ],
    why: 'attributes of states, besides units and names',
    query: `select key as name, count(*) as count from state_attributes,
        json_each(case when json_valid(shared_attrs) then shared_attrs else '{}' end)
      where key not in (${USED.map((name) => `'${name}'`).join(', ')})
      group by key order by count(*) desc`,
  },
  {
    needs: [['events', 'event_id']],
    why: 'events',
    query: 'select null as name, count(*) as count from events',
  },
  ...['last_reset', 'last_reset_ts', 'mean_weight'].map(
    (column): Other => ({
      needs: [['statistics', column]],
      why: `the column ${column} of statistics`,
      query: `select null as name, count(${column}) as count from statistics`,
    }),
  ),
];

type ColumnsOf = (table: string) => ReadonlySet<string>;

/** The first of the columns that exist and are not null. */
function firstOf(columns: ReadonlySet<string>, alias: string, ...names: readonly string[]): string {
  const found = names.filter((name) => columns.has(name)).map((name) => `${alias}.${name}`);
  return found.length > 1 ? `coalesce(${found.join(', ')})` : (found[0] ?? 'null');
}

/** Queries of states. Entities and attributes are in tables, in the rows of states, or in both. */
function statesOf(columnsOf: ColumnsOf) {
  const columns = columnsOf('states');
  const hasMeta = columnsOf('states_meta').has('entity_id') && columns.has('metadata_id');
  const hasAttributes = columnsOf('state_attributes').has('shared_attrs') && columns.has('attributes_id');
  const own = firstOf(columns, 's', 'entity_id');
  const ownAttributes = firstOf(columns, 's', 'attributes');
  const ofEntity = hasMeta
    ? {
        name: `coalesce(m.entity_id, ${own})`,
        join: 'left join states_meta m on m.metadata_id = s.metadata_id',
        is: 's.metadata_id = (select metadata_id from states_meta where entity_id = ?)',
        all: ['select entity_id as name from states_meta where entity_id is not null'],
      }
    : { name: own, join: '', is: `${own} = ?`, all: [] };
  const ofAttributes = hasAttributes
    ? {
        id: 's.attributes_id',
        text: `coalesce(a.shared_attrs, ${ownAttributes})`,
        join: 'left join state_attributes a on a.attributes_id = s.attributes_id',
      }
    : { id: 'null', text: ownAttributes, join: '' };
  const from = `from states s ${ofEntity.join} ${ofAttributes.join}`;
  const updated = firstOf(columns, 's', 'last_updated_ts', 'last_updated');
  const hasOwn = columns.has('entity_id');
  return {
    rows: `select s.state_id as id, ${ofEntity.name} as entity, s.state as state, ${updated} as time,
        ${ofAttributes.id} as attributesId, ${ofAttributes.text} as attributes
      ${from} where s.state_id > ? order by s.state_id limit ?`,
    newest: `select ${ofAttributes.text} as attributes ${from}
      where ${ofEntity.is} and s.state not in ('unavailable', 'unknown', '') order by s.state_id desc limit 1`,
    entities: [
      ...ofEntity.all,
      ...(hasOwn ? ['select distinct entity_id as name from states where entity_id is not null'] : []),
    ],
  };
}

/** Queries of statistics, which return nothing in a file without them. */
function statisticsOf(columnsOf: ColumnsOf) {
  const [columns, meta] = [columnsOf('statistics'), columnsOf('statistics_meta')];
  if (!columns.has('metadata_id') || !meta.has('statistic_id')) {
    return {
      rows: 'select null as id where ? < 0 limit ?',
      last: 'select null as id',
      externals: 'select null as statistic where 0',
      entities: [],
    };
  }
  const name = firstOf(meta, 'n', 'name');
  const values = ['mean', 'min', 'max', 'state', 'sum'].map(
    (column) => `${firstOf(columns, 's', column)} as "${column}"`,
  );
  return {
    rows: `select s.id as id, n.statistic_id as statistic, n.source as source, n.unit_of_measurement as unit,
        ${name} as name, ${firstOf(columns, 's', 'start_ts', 'start')} as time, ${values.join(', ')}
      from statistics s left join statistics_meta n on n.id = s.metadata_id where s.id > ? order by s.id limit ?`,
    last: 'select max(id) as id from statistics',
    externals: `select n.statistic_id as statistic, n.unit_of_measurement as unit, ${name} as name
      from statistics_meta n where n.source <> 'recorder'`,
    entities: ["select statistic_id as name from statistics_meta where source = 'recorder'"],
  };
}
