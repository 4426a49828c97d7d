import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';

interface Target {
  readonly expr?: string;
}

/** Every panel, those within rows too, without the rows. */
export function panelsOf({ panels = [] }: Dashboard): Panel[] {
  return panels.flatMap((panel) => ('panels' in panel ? panel.panels : [panel]));
}

export function expressionsOf(panel: Panel): string[] {
  return ((panel.targets ?? []) as readonly Target[]).map(({ expr }) => expr ?? '');
}

/** An expression as Grafana sends it when everything is chosen. */
export function withEverythingChosen(expression: string, rateInterval: string, range = '1h'): string {
  return expression
    .replaceAll('$__rate_interval', rateInterval)
    .replaceAll('$__range', range)
    .replaceAll('$__interval_ms', '60000')
    .replaceAll('$__interval', '1m')
    .replaceAll(/"\$\w+"/g, '".+"');
}
