/** The fields of an answer of Grafana's `/api/ds/query` (Grafana 8 and later) that this file reads. */
export interface QueryAnswer {
  readonly results?: Readonly<Record<string, QueryResult>>;
}

interface QueryResult {
  readonly error?: string;
  readonly frames?: readonly {
    readonly data?: { readonly values?: readonly (readonly unknown[])[] };
  }[];
}

/** The result of a panel: its errors, and whether any of its queries returned a value. */
export interface Verdict {
  readonly errors: readonly string[];
  readonly hasData: boolean;
}

/** The result of a panel from the answers to its queries. A panel has data if one of its queries has. */
export function judge(answers: readonly QueryAnswer[]): Verdict {
  const results = answers.flatMap(({ results = {} }) => Object.entries(results));
  return {
    errors: results.flatMap(([refId, { error }]) => (error === undefined ? [] : [`${refId}: ${error}`])),
    hasData: results.some(([, { frames = [] }]) =>
      frames.some(({ data }) => (data?.values ?? []).some((column) => column.length > 0)),
    ),
  };
}

/** The body of `POST /api/dashboards/db`: the dashboard of the file with the given data source. */
export function importOf(dashboard: object, datasource: string): object {
  const text = JSON.stringify({ ...dashboard, id: null }).replaceAll(
    '"$datasource"',
    JSON.stringify(datasource),
  );
  return { dashboard: JSON.parse(text), overwrite: true, message: 'a test' };
}
