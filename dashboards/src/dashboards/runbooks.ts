import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Dashboard, DashboardBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import * as text from '@grafana/grafana-foundation-sdk/text';
import { alerts } from '../alerts.ts';
import { numbered, toOthers } from '../dashboard.ts';

const PAGES = join(import.meta.dirname, '..', '..', '..', 'docs', 'runbooks');
const UID = 'tidegauge-runbooks';
/** In the order of their names, so that few addresses change when an alert is added. */
const NAMES = alerts()
  .map(({ name }) => name)
  .toSorted();

/** The path in Grafana of the runbook of an alert: a panel that fills the page. */
export function runbookPath(alert: string): string {
  return `/d/${UID}?viewPanel=${NAMES.indexOf(alert) + 1}`;
}

/** The runbooks as panels, so that links in alerts work in a Grafana without the Internet. */
export const runbooks: Dashboard = numbered(
  NAMES.reduce(
    (builder, name) =>
      builder.withPanel(
        new text.PanelBuilder()
          .title(name)
          .description('The alerts link to this panel.')
          .mode(text.TextMode.Markdown)
          .content(contentOf(name))
          .transparent(true)
          .span(12)
          .height(14),
      ),
    new DashboardBuilder('Tidegauge / Runbooks')
      .uid(UID)
      .description(
        'What each alert means, what to check and what to do. The same texts are in docs/runbooks.',
      )
      .tags(['tidegauge'])
      .link(toOthers())
      .readonly(),
  ),
);

/** A runbook without its heading. Links to other runbooks lead to their panels; other pages are only named. */
function contentOf(name: string): string {
  return readFileSync(join(PAGES, `${name}.md`), 'utf8')
    .replace(/^# .*\n+/, '')
    .replaceAll(
      /\[([^\]]+)\]\((Tidegauge\w+)\.md\)/g,
      (_, label, alert) => `[${label}](${runbookPath(alert)})`,
    )
    .replaceAll(/\[([^\]]+)\]\((?!https?:|\/)[^)]*\)/g, '$1');
}
