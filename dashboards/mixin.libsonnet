// Made by npm run dashboards from dashboards/src; change it there.
{
  grafanaDashboards+:: {
    'tidegauge-overview.json': (import 'grafana/dashboards/tidegauge-overview.json'),
    'tidegauge-live.json': (import 'grafana/dashboards/tidegauge-live.json'),
    'tidegauge-ingest.json': (import 'grafana/dashboards/tidegauge-ingest.json'),
    'tidegauge-broker.json': (import 'grafana/dashboards/tidegauge-broker.json'),
    'tidegauge-store.json': (import 'grafana/dashboards/tidegauge-store.json'),
    'tidegauge-boards.json': (import 'grafana/dashboards/tidegauge-boards.json'),
    'tidegauge-load-test.json': (import 'grafana/dashboards/tidegauge-load-test.json'),
    'tidegauge-latest.json': (import 'grafana/dashboards/tidegauge-latest.json'),
    'tidegauge-runbooks.json': (import 'grafana/dashboards/tidegauge-runbooks.json'),
  },
  prometheusAlerts+:: std.parseYaml(importstr 'prometheus/alerts.yml'),
  prometheusRules+:: std.parseYaml(importstr 'prometheus/rules.yml'),
}
