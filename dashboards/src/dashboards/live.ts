import { CONFIG } from '../config.ts';
import { dashboard } from '../dashboard.ts';
import { CHOSEN, lines, number, quantile, rate } from '../panels.ts';

const { thresholds: limit } = CONFIG;

export const live = dashboard({
  uid: 'tidegauge-live',
  title: 'Tidegauge / Live',
  description: 'Readings as they arrive, where each of them is, and how long it took.',
  chosenFrom: 'tidegauge_readings_received_total',
  variables: { backend: 'tidegauge_readings_stored_total' },
  rows: {
    Now: [
      number({
        title: 'Stored',
        description:
          'Readings stored per second. Zero while sensors send: see "Waiting" and the dashboard Store.',
        unit: 'ops',
        queries: { stored: rate('tidegauge_readings_stored_total', '', ', backend=~"$backend"') },
      }),
      number({
        title: 'Waiting',
        description:
          'Age of the oldest reading that is not stored. When it grows, the store or ingest cannot keep up: see Store.',
        unit: 's',
        bad: limit.oldestUnstoredSeconds,
        queries: { oldest: `max(tidegauge_oldest_unstored_seconds{${CHOSEN}})` },
      }),
      number({
        title: 'Missing',
        description:
          'Sequence numbers that sensors used and ingest never saw. Ask GET /v1/ledger which; then see Broker for drops.',
        unit: 'short',
        bad: 1,
        queries: { missing: `sum(tidegauge_ledger_missing_readings{${CHOSEN}})` },
      }),
      number({
        title: 'In quarantine',
        description:
          'Items that could not be stored. Read them at GET /v1/quarantine; replay or discard them.',
        unit: 'short',
        bad: 1,
        queries: { items: `sum(tidegauge_quarantine_items{${CHOSEN}})` },
      }),
      number({
        title: 'Broker sessions',
        description:
          'The least of all: 0 when an ingest is not connected to the broker. See the broker first.',
        unit: 'short',
        badBelow: 1,
        queries: { connected: `min(tidegauge_mqtt_connected{${CHOSEN}})` },
      }),
      number({
        title: 'Accounted for nowhere',
        description:
          'received - stored - duplicate - quarantined - spooled - in flight. Anything but 0 is a bug: report it.',
        unit: 'short',
        bad: 1,
        queries: {
          nowhere:
            `abs(sum(tidegauge_readings_received_total{${CHOSEN}})` +
            ['stored_total', 'duplicate_total', 'quarantined_total']
              .map((name) => ` - sum(tidegauge_readings_${name}{${CHOSEN}})`)
              .join('') +
            ` - sum(tidegauge_spool_readings{${CHOSEN}}) - sum(tidegauge_in_flight_readings{${CHOSEN}}))`,
        },
      }),
    ],
    Ledger: [
      lines({
        title: 'Readings',
        description: 'What came and what became of it. Received above the rest: readings wait. See Ingest.',
        unit: 'ops',
        width: 12,
        queries: {
          received: rate('tidegauge_readings_received_total'),
          stored: rate('tidegauge_readings_stored_total', '', ', backend=~"$backend"'),
          duplicate: rate('tidegauge_readings_duplicate_total'),
          quarantined: rate('tidegauge_readings_quarantined_total'),
        },
      }),
      lines({
        title: 'Gaps',
        description:
          'Sequence numbers skipped per second. In bursts that stay missing: look for broker drops at the same time.',
        unit: 'ops',
        width: 12,
        queries: { skipped: rate('tidegauge_ledger_gap_readings_total') },
      }),
    ],
    Latency: [
      lines({
        title: "From the sensor's time stamp to the commit",
        description:
          'Includes the sensor and the network. High only here: a clock or a sensor that sends late; see "Stages".',
        unit: 's',
        width: 12,
        queries: Object.fromEntries(
          [0.5, 0.9, 0.99].map((q) => [
            `p${q * 100}`,
            quantile(q, 'tidegauge_stage_seconds', ', stage="end_to_end"'),
          ]),
        ),
      }),
      lines({
        title: 'Stages (p99)',
        description:
          'Where the time goes. store: the database. queue: waits for it. travel: network or clocks.',
        unit: 's',
        width: 12,
        queries: { '{{stage}}': quantile(0.99, 'tidegauge_stage_seconds', ', stage!="end_to_end"', 'stage') },
      }),
      lines({
        title: "Lead of sensors' clocks",
        description: 'The largest since the last scrape. Beyond seconds: set that sensor up with NTP.',
        unit: 's',
        width: 12,
        queries: { '{{instance}}': `max by (instance) (tidegauge_clock_skew_seconds{${CHOSEN}})` },
      }),
      lines({
        title: 'In flight',
        description:
          'Received and not settled. At its bound (MAX_IN_FLIGHT) ingest holds the broker back; see Store.',
        unit: 'short',
        width: 12,
        queries: { '{{instance}}': `sum by (instance) (tidegauge_in_flight_readings{${CHOSEN}})` },
      }),
    ],
  },
});
