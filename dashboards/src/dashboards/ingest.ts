import { dashboard } from '../dashboard.ts';
import { bucketRates, CHOSEN, heat, lines, quantile, rate } from '../panels.ts';

const STAGES: Readonly<Record<string, string>> = {
  travel:
    'From the time stamp to ingest. If it is long, the network is slow, or the clock of a sensor is behind.',
  queue:
    'Waiting for a writer. If it is long, the store is the bottleneck: see the next panel and the dashboard Store.',
  store: 'In the store, until the commit. If it is long, see the dashboards Store and Boards.',
  ack: 'From the commit to the acknowledgement. If it is long, the process needs more CPU: see "CPU" below.',
  end_to_end: 'From the time stamp to the commit. If it is long, find the stage that is long too.',
};

export const ingest = dashboard({
  uid: 'tidegauge-ingest',
  title: 'Tidegauge / Ingest and API',
  description: 'Rate, errors and duration of ingest and of the API, and the resources that they use.',
  chosenFrom: 'nodejs_version_info',
  variables: { backend: 'tidegauge_store_seconds_count' },
  rows: {
    'Rate and errors': [
      lines({
        title: 'Messages by route',
        description:
          'MQTT messages per second. If a route is at 0, its sensors are off, or their topic changed.',
        unit: 'ops',
        queries: { '{{route}} qos {{qos}}': rate('tidegauge_messages_received_total', 'route, qos') },
      }),
      lines({
        title: 'Readings stored by backend',
        description:
          'Readings per second. If far fewer are stored than received, see "Age of the oldest waiting reading".',
        unit: 'ops',
        queries: {
          '{{backend}}': rate('tidegauge_readings_stored_total', 'backend', ', backend=~"$backend"'),
          received: rate('tidegauge_readings_received_total'),
        },
      }),
      lines({
        title: 'Quarantined readings by reason',
        description:
          'Readings per second. Read GET /v1/quarantine?reason=…, fix the sensor or the route, then replay.',
        unit: 'ops',
        queries: { '{{reason}}': rate('tidegauge_readings_quarantined_total', 'reason') },
      }),
    ],
    Duration: Object.entries(STAGES).map(([stage, description]) =>
      heat({
        title: `Stage ${stage}`,
        description,
        unit: 's',
        queries: { readings: bucketRates('tidegauge_stage_seconds', `, stage="${stage}"`) },
      }),
    ),
    'Batches and queue': [
      heat({
        title: 'Readings per write',
        description: 'Batches grow under load. If all have MAX_BATCH readings, the store is at its limit.',
        unit: 'short',
        queries: { readings: bucketRates('tidegauge_batch_readings') },
      }),
      lines({
        title: 'Age of the oldest waiting reading',
        description:
          'Age of the oldest reading that is not stored. If it grows, see the dashboard Store. The broker queues newer messages.',
        unit: 's',
        queries: { '{{instance}}': `max by (instance) (tidegauge_oldest_unstored_seconds{${CHOSEN}})` },
      }),
      lines({
        title: 'Readings in flight',
        description:
          'Readings in memory. At MAX_IN_FLIGHT the broker has to wait, because the store is too slow.',
        unit: 'short',
        queries: { '{{instance}}': `sum by (instance) (tidegauge_in_flight_readings{${CHOSEN}})` },
      }),
      lines({
        title: 'Spool size',
        description:
          'Bytes on the disk of ingest while the store is unavailable. Fix the store before the spool reaches its limit.',
        unit: 'bytes',
        queries: {
          '{{instance}}': `sum by (instance) (tidegauge_spool_bytes{${CHOSEN}})`,
          'limit of {{instance}}': `sum by (instance) (tidegauge_spool_limit_bytes{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Age of the spool',
        description:
          'Age of the oldest reading in the spool. If it grows while the store works, the replay is too slow.',
        unit: 's',
        queries: { '{{instance}}': `max by (instance) (tidegauge_spool_oldest_seconds{${CHOSEN}})` },
      }),
      lines({
        title: 'Reconnects to the broker',
        description:
          'Reconnects per second. If they are regular, check the network, the keep-alive, and that no other client uses the same client id.',
        unit: 'ops',
        queries: { '{{instance}}': rate('tidegauge_mqtt_reconnects_total', 'instance') },
      }),
    ],
    API: [
      lines({
        title: 'Requests by route',
        description: 'HTTP requests per second. If the rate jumps, the log of the API shows the clients.',
        unit: 'reqps',
        queries: { '{{method}} {{route}}': rate('tidegauge_http_request_seconds_count', 'method, route') },
      }),
      lines({
        title: 'HTTP errors',
        description:
          '4xx: a wrong request; the problem document has the reason. 5xx: a server error; the log has the reason.',
        unit: 'reqps',
        queries: {
          '{{status}} {{route}}': rate(
            'tidegauge_http_request_seconds_count',
            'status, route',
            ', status=~"[45].."',
          ),
        },
      }),
      lines({
        title: 'Duration by route (p99)',
        description:
          'If a route is slow, its clients request a long time range without a limit, or the store is slow: see the dashboard Store.',
        unit: 's',
        queries: { '{{route}}': quantile(0.99, 'tidegauge_http_request_seconds', '', 'route') },
      }),
    ],
    Processes: [
      lines({
        title: 'CPU',
        description:
          'Used cores. A process uses one core at most. If ingest is near 1, run more replicas with SHARE_GROUP.',
        unit: 'short',
        queries: { '{{job}} {{instance}}': rate('process_cpu_seconds_total', 'job, instance') },
      }),
      lines({
        title: 'Memory',
        description:
          'Resident memory. It has a limit: growth over days is a bug. See the memory limits in stacks/profiles.',
        unit: 'bytes',
        queries: {
          '{{job}} {{instance}}': `sum by (job, instance) (process_resident_memory_bytes{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Event loop lag (p99)',
        description:
          'How long work waits in the process. Above 0.5 s (the resolution of this measurement), the CPU is overloaded.',
        unit: 's',
        queries: {
          '{{job}} {{instance}}': `max by (job, instance) (nodejs_eventloop_lag_p99_seconds{${CHOSEN}})`,
        },
      }),
    ],
  },
});
