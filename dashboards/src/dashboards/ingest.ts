import { dashboard } from '../dashboard.ts';
import { bucketRates, CHOSEN, heat, lines, quantile, rate } from '../panels.ts';

const STAGES: Readonly<Record<string, string>> = {
  travel: 'From the time stamp to ingest. Slow: the network, or the clock of a sensor that lags.',
  queue: 'Waiting for a writer. Slow: the store is the bottleneck; see the next panel and Store.',
  store: 'In the store, until the commit. Slow: the disk or the database; see Store and Boards.',
  ack: 'From the commit to the acknowledgement. Slow: the process has no CPU; see "CPU" below.',
  end_to_end: 'From the time stamp to the commit: what a user sees. Find the stage that grew with it.',
};

export const ingest = dashboard({
  uid: 'tidegauge-ingest',
  title: 'Tidegauge / Ingest and API',
  description: 'Rate, errors and duration of both ways through the services, and what they use.',
  chosenFrom: 'nodejs_version_info',
  variables: { backend: 'tidegauge_store_seconds_count' },
  rows: {
    'Rate and errors': [
      lines({
        title: 'Messages by route',
        description: 'MQTT messages per second. A route at zero: its sensors or its topic template changed.',
        unit: 'ops',
        queries: { '{{route}} qos {{qos}}': rate('tidegauge_messages_received_total', 'route, qos') },
      }),
      lines({
        title: 'Stored by backend',
        description: 'Readings per second that changed the store. Far below "Received": see "Waiting".',
        unit: 'ops',
        queries: {
          '{{backend}}': rate('tidegauge_readings_stored_total', 'backend', ', backend=~"$backend"'),
          received: rate('tidegauge_readings_received_total'),
        },
      }),
      lines({
        title: 'Quarantined by reason',
        description:
          'Anything above zero: read GET /v1/quarantine?reason=…; mend the sensor or the route, replay.',
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
        description: 'Batches fill by themselves under load. Always at MAX_BATCH: the store is at its limit.',
        unit: 'short',
        queries: { readings: bucketRates('tidegauge_batch_readings') },
      }),
      lines({
        title: 'Waiting',
        description:
          'Age of the oldest reading that is not stored. Growing: see Store; the broker keeps the rest.',
        unit: 's',
        queries: { '{{instance}}': `max by (instance) (tidegauge_oldest_unstored_seconds{${CHOSEN}})` },
      }),
      lines({
        title: 'In flight',
        description: 'Readings in memory. At MAX_IN_FLIGHT the broker has to wait: the store is too slow.',
        unit: 'short',
        queries: { '{{instance}}': `sum by (instance) (tidegauge_in_flight_readings{${CHOSEN}})` },
      }),
      lines({
        title: 'Spool',
        description:
          'Bytes kept on this board while the store is away. Growing: mend the store before it reaches its bound.',
        unit: 'bytes',
        queries: {
          '{{instance}}': `sum by (instance) (tidegauge_spool_bytes{${CHOSEN}})`,
          'bound of {{instance}}': `sum by (instance) (tidegauge_spool_limit_bytes{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Age of the spool',
        description:
          'Age of the oldest reading in the spool. Growing with a store that answers: replay is too slow.',
        unit: 's',
        queries: { '{{instance}}': `max by (instance) (tidegauge_spool_oldest_seconds{${CHOSEN}})` },
      }),
      lines({
        title: 'Reconnects to the broker',
        description:
          'Sessions that came back, per second. Regular ones: the network, keep-alive, or a client id used twice.',
        unit: 'ops',
        queries: { '{{instance}}': rate('tidegauge_mqtt_reconnects_total', 'instance') },
      }),
    ],
    API: [
      lines({
        title: 'Requests by route',
        description: 'HTTP requests per second. A jump: who asks? See the log of the API.',
        unit: 'reqps',
        queries: { '{{method}} {{route}}': rate('tidegauge_http_request_seconds_count', 'method, route') },
      }),
      lines({
        title: 'Answers that are no success',
        description: '4xx: a client errs, its problem document says how. 5xx: we do; the log says why.',
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
        description: 'A slow route: a wide range or no limit asked for; else the store. See Store.',
        unit: 's',
        queries: { '{{route}}': quantile(0.99, 'tidegauge_http_request_seconds', '', 'route') },
      }),
    ],
    Processes: [
      lines({
        title: 'CPU',
        description: 'Cores in use; one is all that a process can use. At 1: more replicas with SHARE_GROUP.',
        unit: 'short',
        queries: { '{{job}} {{instance}}': rate('process_cpu_seconds_total', 'job, instance') },
      }),
      lines({
        title: 'Memory',
        description:
          'Resident. It is bounded: growth for days is a bug; a container limit below 200 MB is too tight.',
        unit: 'bytes',
        queries: {
          '{{job}} {{instance}}': `sum by (job, instance) (process_resident_memory_bytes{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Event loop lag (p99)',
        description:
          'How long work waits for its turn. Above 0.5 s (the precision of this measure): no CPU is free.',
        unit: 's',
        queries: {
          '{{job}} {{instance}}': `max by (job, instance) (nodejs_eventloop_lag_p99_seconds{${CHOSEN}})`,
        },
      }),
    ],
  },
});
