/** One answer of Grafana's `/api/ds/query` (Grafana 8 and later), as far as it is read here. */
export interface QueryAnswer {
  readonly results?: Readonly<Record<string, QueryResult>>;
}

interface QueryResult {
  readonly error?: string;
  readonly frames?: readonly {
    readonly data?: { readonly values?: readonly (readonly unknown[])[] };
  }[];
}

/** What a panel was answered: `error`, or whether any of its queries gave a value. */
export interface Verdict {
  readonly errors: readonly string[];
  readonly hasData: boolean;
}

/** Judges the answers that one panel got; a panel has data when one of its queries has. */
export function judge(answers: readonly QueryAnswer[]): Verdict {
  const results = answers.flatMap(({ results = {} }) => Object.entries(results));
  return {
    errors: results.flatMap(([refId, { error }]) => (error === undefined ? [] : [`${refId}: ${error}`])),
    hasData: results.some(([, { frames = [] }]) =>
      frames.some(({ data }) => (data?.values ?? []).some((column) => column.length > 0)),
    ),
  };
}

/** What is sent to `POST /api/dashboards/db`: as the file has it, but with the data source that is there. */
export function importOf(dashboard: object, datasource: string): object {
  const text = JSON.stringify({ ...dashboard, id: null }).replaceAll(
    '"$datasource"',
    JSON.stringify(datasource),
  );
  return { dashboard: JSON.parse(text), overwrite: true, message: 'a test' };
}
