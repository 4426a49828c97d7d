// The statements that writers of InfluxDB 1.x send before they write. Every name of a database is accepted, and
// nothing is created: https://docs.influxdata.com/influxdb/v1/query_language/manage-database/

interface Series {
  readonly name?: string;
  readonly columns: readonly string[];
  readonly values?: readonly (readonly unknown[])[];
}

interface Result {
  readonly statement_id: number;
  readonly series?: readonly Series[];
  readonly error?: string;
}

/** Largest number of statements in a query. */
const MAX_STATEMENTS = 100;

const STATEMENTS: readonly (readonly [pattern: RegExp, series: readonly Series[] | null])[] = [
  [/^(?:CREATE|ALTER) (?:DATABASE|RETENTION POLICY) /i, null],
  [/^SHOW DATABASES$/i, [{ name: 'databases', columns: ['name'] }]],
  [
    /^SHOW RETENTION POLICIES(?: |$)/i,
    [
      {
        columns: ['name', 'duration', 'shardGroupDuration', 'replicaN', 'default'],
        values: [['autogen', '0s', '168h0m0s', 1, true]],
      },
    ],
  ],
];

/** The answer to a query: one result for each statement, of which all but a few are errors. */
export function answerQuery(query: string): { readonly results: readonly Result[] } {
  const statements = query
    .split(';', MAX_STATEMENTS)
    .map((each) => each.trim().replaceAll(/\s+/g, ' '))
    .filter((each) => each !== '');
  return {
    results: statements.map((statement, index) => {
      const [, series] = STATEMENTS.find(([pattern]) => pattern.test(statement)) ?? [];
      if (series === null) return { statement_id: index };
      if (series !== undefined) return { statement_id: index, series };
      const error =
        'Tidegauge answers CREATE DATABASE, SHOW DATABASES and SHOW RETENTION POLICIES only: read with GET /v1/readings';
      return { statement_id: index, error };
    }),
  };
}
