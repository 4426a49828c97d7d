import { dashboard } from '../dashboard.ts';
import { CHOSEN, lines, number, quantile, RATE, rate } from '../panels.ts';

/** k6 pushes its metrics; they carry the tag of the run, and neither job nor instance. */
const RUN = '{testid=~"$testid"}';
const pushed = (name: string) => `sum by (testid) (rate(${name}${RUN}[${RATE}]))`;
/** Of records, as YCSB calls them; the profiles for devices and queries have theirs on k6's own dashboard. */
const OPERATIONS = ['read', 'update', 'insert', 'scan'] as const;
/** A quantile of every operation, by run: k6 shows those since the start of the run. */
const perOperation = (figure: string) =>
  Object.fromEntries(
    OPERATIONS.map((name) => [`${name} {{testid}}`, `max by (testid) (k6_op_${name}${figure}${RUN})`]),
  );

export const loadTest = dashboard({
  uid: 'tidegauge-load-test',
  title: 'Tidegauge / Load test',
  description:
    'Load tests (npm run loadtest -- … --prometheus URL) beside what the services saw. Choose several runs to compare.',
  chosenFrom: 'nodejs_version_info',
  variables: { testid: 'k6_vus' },
  marks: { Run: `max by (testid) (k6_vus${RUN})` },
  rows: {
    Run: [
      number({
        title: 'Virtual users',
        description: 'At its most with a slow service: a closed run slows down with it; use an arrival rate.',
        unit: 'short',
        queries: { '{{testid}}': `max by (testid) (k6_vus${RUN})` },
      }),
      number({
        title: 'Iterations dropped',
        description: 'Any: k6 could not keep its rate, and the run is invalid. More VUs, or less rate.',
        unit: 'short',
        bad: 1,
        queries: { '{{testid}}': `sum by (testid) (increase(k6_dropped_iterations_total${RUN}[$__range]))` },
      }),
      number({
        title: 'Requests that failed',
        description:
          'Share of HTTP requests, since the start. Any: the report of the run says how they ended.',
        unit: 'percentunit',
        bad: 0.001,
        queries: { '{{testid}}': `max by (testid) (k6_http_req_failed_rate${RUN})` },
      }),
    ],
    'As k6 sees it': [
      lines({
        title: 'HTTP requests',
        description:
          'Per second, by run: choose two runs to compare them. Uneven: something pauses; see Store.',
        unit: 'reqps',
        queries: { '{{testid}}': pushed('k6_http_reqs_total') },
      }),
      lines({
        title: 'Duration of HTTP requests (p99)',
        description:
          'From the actual start. Compare with the next row: the difference is the network and k6 itself.',
        unit: 's',
        queries: { '{{testid}}': `max by (testid) (k6_http_req_duration_p99${RUN})` },
      }),
      lines({
        title: 'Iterations',
        description: 'Per second. Below the target rate: see "Iterations dropped".',
        unit: 'ops',
        queries: { '{{testid}}': pushed('k6_iterations_total') },
      }),
    ],
    'Operations, run beside run': [
      lines({
        title: 'Operations done',
        description:
          'Per second, by run. Falling within a run: the store compacts, or a board lowers its clock.',
        unit: 'ops',
        queries: { '{{testid}}': pushed('k6_operations_done_total') },
      }),
      lines({
        title: 'Duration of operations (p99)',
        description:
          'From the actual start. One operation far above the rest: see its statement in the store.',
        unit: 's',
        queries: perOperation('_p99'),
      }),
      lines({
        title: 'Duration from the intended start (p99)',
        description: 'Far above the panel before: operations wait for their turn; the rate is too high.',
        unit: 's',
        queries: perOperation('_intended_p99'),
      }),
      number({
        title: 'Done in each run',
        description: 'Operations, over the time shown: make it reach back to the run that is compared with.',
        unit: 'short',
        width: 8,
        queries: {
          '{{testid}}': `sum by (testid) (max_over_time(k6_operations_done_total${RUN}[$__range]))`,
        },
      }),
      number({
        title: 'Reads of each run (p99)',
        description:
          'The last of each run within the time shown. Worse than a saved run: repeat both, in turns.',
        unit: 's',
        width: 8,
        queries: { '{{testid}}': `max by (testid) (last_over_time(k6_op_read_p99${RUN}[$__range]))` },
      }),
      number({
        title: 'Updates of each run (p99)',
        description:
          'The last of each run within the time shown. Worse than a saved run: repeat both, in turns.',
        unit: 's',
        width: 8,
        queries: { '{{testid}}': `max by (testid) (last_over_time(k6_op_update_p99${RUN}[$__range]))` },
      }),
    ],
    'As the services see it': [
      lines({
        title: 'Requests at the API',
        description: 'Per second by status. Fewer than k6 counts: connections are refused before the API.',
        unit: 'reqps',
        queries: { '{{status}}': rate('tidegauge_http_request_seconds_count', 'status') },
      }),
      lines({
        title: 'Duration: application and store (p99)',
        description:
          'The application is what stands above the store. It grows with load: the API has no CPU left.',
        unit: 's',
        queries: {
          application: quantile(0.99, 'tidegauge_http_request_seconds'),
          'store {{backend}}': quantile(0.99, 'tidegauge_store_seconds', '', 'backend'),
        },
      }),
      lines({
        title: 'Readings stored',
        description: 'Per second. Below what is published: see "Waiting" on Ingest, and drops on Broker.',
        unit: 'ops',
        queries: { '{{backend}}': rate('tidegauge_readings_stored_total', 'backend') },
      }),
      lines({
        title: 'CPU of the services',
        description: 'Cores in use. A service at 1 is what limits this run.',
        unit: 'short',
        queries: { '{{job}}': rate('process_cpu_seconds_total', 'job') },
      }),
      lines({
        title: 'Memory of the services',
        description: 'Resident. Growing through a run of steady load: a leak; report it.',
        unit: 'bytes',
        queries: { '{{job}}': `sum by (job) (process_resident_memory_bytes{${CHOSEN}})` },
      }),
    ],
  },
});
