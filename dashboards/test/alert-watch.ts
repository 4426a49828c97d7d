import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Prometheus } from '@tidegauge/lab/prometheus';
import { DASHBOARDS } from '../src/dashboards.ts';
import { expressionsOf, panelsOf, withEverythingChosen } from '../src/queries.ts';

/** Long enough for a busy machine: an alert needs several scrapes and evaluations. */
export const WAIT_MS = 240_000;

/** Looks every `pollMs` until `done` resolves to true. */
export async function until(what: string, done: () => Promise<boolean>, pollMs = 200): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; !(await done()); await sleep(pollMs)) {
    assert.ok(Date.now() < deadline, `not so within ${WAIT_MS} ms: ${what}`);
  }
}

/** An alert by its name, or of one thing: `TidegaugeDiskNearlyFull{mountpoint="/mnt"}`. */
async function isFiring(prometheus: Prometheus, alert: string): Promise<boolean> {
  const [, name, matchers = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(alert) ?? [];
  const samples = await prometheus.query(`ALERTS{alertname="${name}", alertstate="firing", ${matchers}}`);
  return samples.length > 0;
}

/** Waits until each of the alerts fires. */
export async function fires(prometheus: Prometheus, ...alerts: string[]): Promise<void> {
  await Promise.all(alerts.map((alert) => until(`${alert} fires`, () => isFiring(prometheus, alert))));
}

/** Waits until none of the alerts fires. */
export async function clears(prometheus: Prometheus, ...alerts: string[]): Promise<void> {
  await Promise.all(
    alerts.map((alert) => until(`${alert} clears`, async () => !(await isFiring(prometheus, alert)))),
  );
}

/** A query of a panel, and its dashboard, row and panel. */
export interface PanelQuery {
  readonly dashboard: string;
  readonly row: string;
  readonly panel: string;
  readonly expression: string;
}

/** Every query of every panel, as Grafana sends it when everything is chosen and the last minute is shown. */
export function panelQueries(rateInterval: string): PanelQuery[] {
  return DASHBOARDS.flatMap((dashboard) => {
    let row = '';
    return (dashboard.panels ?? []).flatMap((panel) => {
      if (panel.type === 'row') row = panel.title ?? '';
      const panels = 'panels' in panel ? panel.panels : [panel];
      return panels.flatMap((each) =>
        expressionsOf(each).map((expression) => ({
          dashboard: dashboard.uid!,
          row,
          panel: each.title!,
          expression: withEverythingChosen(expression, rateInterval, '1m'),
        })),
      );
    });
  });
}

/** What a panel with one number shows. */
interface Shown {
  readonly text: string;
  readonly colour: string;
}

/** What the numbers of a dashboard show now, by title. */
export async function numbers(prometheus: Prometheus, uid: string): Promise<ReadonlyMap<string, Shown>> {
  const panels = panelsOf(DASHBOARDS.find((each) => each.uid === uid)!).filter(({ type }) => type === 'stat');
  const shown = panels.map(async (panel) => {
    const [expression] = expressionsOf(panel);
    const [sample] = await prometheus.query(withEverythingChosen(expression!, '10s'));
    return [panel.title!, shownAs(panel, sample?.value)] as const;
  });
  return new Map(await Promise.all(shown));
}

function shownAs({ fieldConfig }: Panel, value: number | undefined): Shown {
  const { mappings = [], thresholds } = fieldConfig!.defaults;
  for (const mapping of mappings) {
    if (mapping.type === 'special' && value === undefined)
      return { text: mapping.options.result.text!, colour: mapping.options.result.color! };
  }
  const step = thresholds!.steps.findLast((each) => each.value === null || value! >= each.value);
  const word = mappings.flatMap((each) => (each.type === 'value' ? [each.options[`${value}`]?.text] : []));
  return { text: word[0] ?? `${value}`, colour: step!.color };
}

/** The queries that return no data. */
export async function withoutData(
  prometheus: Prometheus,
  queries: readonly PanelQuery[],
): Promise<PanelQuery[]> {
  const empty: PanelQuery[] = [];
  for (const query of queries) {
    if ((await prometheus.query(query.expression)).length === 0) empty.push(query);
  }
  return empty;
}

/** The same as text: `dashboard / row / panel: query`. */
export async function emptyOf(prometheus: Prometheus, queries: readonly PanelQuery[]): Promise<string[]> {
  return (await withoutData(prometheus, queries)).map(textOf);
}

export function textOf({ dashboard, row, panel, expression }: PanelQuery): string {
  return `${dashboard} / ${row} / ${panel}: ${expression}`;
}
