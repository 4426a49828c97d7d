import { dashboard } from '../dashboard.ts';
import { CHOSEN, lines, number, quantile, RATE, READINGS_PER_SECOND, rate } from '../panels.ts';
import { tableOf } from '../tables.ts';

/** k6 pushes its metrics. They have the tag of the run as a label, and neither job nor instance. */
const RUN = '{testid=~"$testid"}';
const pushed = (name: string) => `sum by (testid) (rate(${name}${RUN}[${RATE}]))`;
/** The figures of an experiment's runs have one sample each, at the end of the run. */
const ended = (figure: string) => `max by (testid) (last_over_time(tidegauge_run_${figure}${RUN}[$__range]))`;
/** YCSB's operations on records. k6's own dashboard shows the operations of the other profiles. */
const OPERATIONS = ['read', 'update', 'insert', 'scan'] as const;
/** A quantile of every operation, by run. k6 computes it since the start of the run. */
const perOperation = (figure: string) =>
  Object.fromEntries(
    OPERATIONS.map((name) => [`${name} {{testid}}`, `max by (testid) (k6_op_${name}${figure}${RUN})`]),
  );

export const loadTest = dashboard({
  uid: 'tidegauge-load-test',
  title: 'Tidegauge / Load test',
  description:
    'Load tests (npm run loadtest -- … --prometheus URL), and the services at the same time. Choose several runs to compare them.',
  // Not of other programs on Node.js.
  chosenFrom: 'tidegauge_board_info',
  closed: /^Operations/,
  variables: { testid: '{__name__=~"k6_vus|tidegauge_run_phase"}' },
  marks: {
    Run: { expr: `max by (testid) (k6_vus${RUN})`, title: '{{testid}}', colour: 'blue' },
    // k6 marks the run of a load test itself.
    Phases: {
      expr: `max by (testid, phase) (tidegauge_run_phase${RUN}) unless on (testid) k6_vus`,
      title: '{{phase}}: {{testid}}',
      colour: 'orange',
    },
  },
  rows: {
    Run: [
      number({
        title: 'Virtual users',
        description:
          'The most of each run in the displayed time range. If all are used while the service is slow, a closed-loop run slows down with it. Use an arrival rate.',
        unit: 'short',
        width: 8,
        whenAbsent: 'No run',
        queries: { '{{testid}}': `max by (testid) (max_over_time(k6_vus${RUN}[$__range]))` },
      }),
      number({
        title: 'Iterations dropped',
        description:
          'Above 0, k6 could not keep its rate and the run is not valid. Use more virtual users or a lower rate.',
        unit: 'short',
        bad: 1,
        width: 8,
        whenAbsent: 'No run',
        queries: {
          '{{testid}}':
            `sum by (testid) (max_over_time(k6_dropped_iterations_total${RUN}[$__range]))` +
            // k6 has no counter before the first drop.
            ` or 0 * max by (testid) (max_over_time(k6_vus${RUN}[$__range]))`,
        },
      }),
      number({
        title: 'Failed requests',
        description: 'Share of HTTP requests since the start. The report of the run shows how they failed.',
        unit: 'percentunit',
        bad: 0.001,
        width: 8,
        whenAbsent: 'No run',
        queries: {
          '{{testid}}': `max by (testid) (last_over_time(k6_http_req_failed_rate${RUN}[$__range]))`,
        },
      }),
    ],
    'Measured by k6': [
      lines({
        title: 'HTTP requests',
        description:
          'Per second, by run. Choose two runs to compare them. If the rate is uneven, something pauses: see the dashboard Store.',
        unit: 'reqps',
        queries: { '{{testid}}': pushed('k6_http_reqs_total') },
      }),
      lines({
        title: 'Duration of HTTP requests (p99)',
        description:
          'From the actual start of the request. The difference to the durations in the last row is the network and k6 itself.',
        unit: 's',
        log: true,
        queries: { '{{testid}}': `max by (testid) (k6_http_req_duration_p99${RUN})` },
      }),
      lines({
        title: 'Iterations',
        description: 'Per second. If it is below the target rate, see "Iterations dropped".',
        unit: 'ops',
        queries: { '{{testid}}': pushed('k6_iterations_total') },
      }),
    ],
    'Operations by run': [
      lines({
        title: 'Operations',
        description:
          'Completed operations per second, by run. If it falls within a run, the store compacts data, or a CPU slows down.',
        unit: 'ops',
        queries: { '{{testid}}': pushed('k6_operations_done_total') },
      }),
      lines({
        title: 'Duration of operations (p99)',
        description:
          'From the actual start. If one operation is much slower than the others, check its statement in the store.',
        unit: 's',
        log: true,
        queries: perOperation('_p99'),
      }),
      lines({
        title: 'Duration from the intended start (p99)',
        description:
          'If it is far above "Duration of operations (p99)", operations wait for their turn: the rate is too high.',
        unit: 's',
        log: true,
        queries: perOperation('_intended_p99'),
      }),
      tableOf({
        title: 'Runs',
        description:
          'The runs of the displayed time range; it must include the run to compare with. Durations are the last ones of each run. If a run is worse than a saved one, repeat both, alternating. A click on a run shows only it.',
        label: 'testid',
        heading: 'Run',
        whenEmpty: 'No load test ran in this time',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variables
        link: '/d/tidegauge-load-test?${__url_time_range}&var-testid=${__value.text:percentencode}',
        columns: {
          Operations: {
            expr: `sum by (testid) (max_over_time(k6_operations_done_total${RUN}[$__range]))`,
            unit: 'short',
          },
          'HTTP requests': {
            expr: `sum by (testid) (max_over_time(k6_http_reqs_total${RUN}[$__range]))`,
            unit: 'short',
          },
          'Failed requests': {
            expr: `max by (testid) (last_over_time(k6_http_req_failed_rate${RUN}[$__range]))`,
            unit: 'percentunit',
            bad: 0.001,
          },
          'Reads (p99)': {
            expr: `max by (testid) (last_over_time(k6_op_read_p99${RUN}[$__range]))`,
            unit: 's',
          },
          'Updates (p99)': {
            expr: `max by (testid) (last_over_time(k6_op_update_p99${RUN}[$__range]))`,
            unit: 's',
          },
        },
      }),
      tableOf({
        title: 'Runs of experiments',
        description:
          'The runs of npm run study -- run … --prometheus URL that ended in the displayed time range, with their levels. Runs that are not valid are repeated. The report of the study has the analysis. A click on a run shows only it.',
        label: 'testid',
        heading: 'Run',
        whenEmpty: 'No experiment ran in this time',
        height: 6,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variables
        link: '/d/tidegauge-load-test?${__url_time_range}&var-testid=${__value.text:percentencode}',
        columns: {
          Operations: { expr: ended('operations'), unit: 'short' },
          'Operations/s': { expr: ended('operations_per_second'), unit: 'ops' },
          Duration: { expr: ended('duration_seconds'), unit: 's' },
          Valid: { expr: ended('valid'), unit: 'short', badBelow: 1, words: { 0: 'no', 1: 'yes' } },
        },
      }),
    ],
    'Measured by the services': [
      lines({
        title: 'Requests at the API',
        description:
          'Per second, by status. If there are fewer than k6 counts, connections are refused before the API.',
        unit: 'reqps',
        queries: { '{{status}}': rate('tidegauge_http_request_seconds_count', 'status') },
      }),
      lines({
        title: 'Duration: application and store (p99)',
        description:
          'The difference between the lines is the time of the application. If it grows with the load, the API needs more CPU.',
        unit: 's',
        log: true,
        queries: {
          application: quantile(0.99, 'tidegauge_http_request_seconds'),
          'store {{backend}}': quantile(0.99, 'tidegauge_store_seconds', '', 'backend'),
        },
      }),
      lines({
        title: 'Readings stored',
        description:
          'Per second. If it is below the published rate, see the dashboards Ingest and API (waiting readings) and Broker (dropped messages).',
        unit: READINGS_PER_SECOND,
        queries: { '{{backend}}': rate('tidegauge_readings_stored_total', 'backend') },
      }),
      lines({
        title: 'CPU of the services',
        description: 'Used cores. A service near 1 limits this run.',
        unit: 'short',
        queries: { '{{job}}': rate('process_cpu_seconds_total', 'job') },
      }),
      lines({
        title: 'Memory of the services',
        description: 'Resident memory. If it grows during a run with a steady load, it is a leak: report it.',
        unit: 'bytes',
        queries: { '{{job}}': `sum by (job) (process_resident_memory_bytes{${CHOSEN}})` },
      }),
    ],
  },
});
