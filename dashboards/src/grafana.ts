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

/** A dashboard's JSON, as far as a copy changes it. */
export interface DashboardFile {
  readonly uid: string;
  readonly title: string;
}

/**
 * The body of `POST /api/dashboards/db` for a copy of a dashboard, with its own uid and title, so that no dashboard of
 * the installation is overwritten.
 *
 * @param folderUid the folder of the copy
 * @param datasource the uid of the data source that replaces the variable
 */
export function copyOf(dashboard: DashboardFile, folderUid: string, datasource: string): object {
  const copy = { ...dashboard, id: null, uid: `test-${dashboard.uid}`, title: `Test of ${dashboard.title}` };
  const text = JSON.stringify(copy).replaceAll('"$datasource"', JSON.stringify(datasource));
  return { dashboard: JSON.parse(text), folderUid, overwrite: true, message: 'a test' };
}
