import { CONFIG } from '../config.ts';
import { dashboard } from '../dashboard.ts';
import {
  allAre,
  CHOSEN,
  count,
  events,
  lines,
  newlyMissing,
  number,
  ofProcesses,
  quantile,
  READINGS_PER_SECOND,
  rate,
  rateNow,
} from '../panels.ts';

const { jobs, thresholds: limit } = CONFIG;

export const live = dashboard({
  uid: 'tidegauge-live',
  title: 'Tidegauge / Live',
  description: 'Arriving readings, what became of them, and how long it took.',
  chosenFrom: 'tidegauge_readings_received_total',
  variables: { backend: 'tidegauge_readings_stored_total' },
  rows: {
    Now: [
      number({
        title: 'Readings stored',
        description:
          'Readings per second. If it is 0 while sensors send, see "Oldest waiting reading" and the dashboard Store.',
        unit: READINGS_PER_SECOND,
        queries: { stored: rateNow('tidegauge_readings_stored_total', ', backend=~"$backend"') },
      }),
      number({
        title: 'Oldest waiting reading',
        description:
          'Age of the oldest reading that is not stored. If it grows, the store or ingest is too slow: see the dashboard Store.',
        unit: 's',
        bad: limit.oldestUnstoredSeconds,
        queries: { oldest: `max(tidegauge_oldest_unstored_seconds{${CHOSEN}})` },
      }),
      number({
        title: 'Missing in 15 minutes',
        description:
          'Sequence numbers that sensors used and ingest did not receive for two minutes, in the last 15 minutes. GET /v1/ledger lists all that are missing. Check the dashboard Broker for dropped messages.',
        unit: 'short',
        bad: 1,
        queries: { missing: newlyMissing() },
      }),
      number({
        title: 'Messages in quarantine',
        description:
          'Messages that could not be decoded or stored. Read them at GET /v1/quarantine, then replay or discard them.',
        unit: 'short',
        bad: 1,
        queries: { items: `sum(tidegauge_quarantine_items{${CHOSEN}})` },
      }),
      number({
        title: 'Broker connections',
        description:
          'disconnected: an ingest is not connected to the broker, or does not answer. Check the broker first.',
        unit: 'short',
        words: { 0: 'disconnected', 1: 'connected' },
        badBelow: 1,
        queries: { connected: allAre('tidegauge_mqtt_connected', jobs.ingest) },
      }),
      number({
        title: 'Readings in no count',
        description:
          'received - stored - duplicate - quarantined - spooled - in flight. Any value other than 0 is a bug: report it.',
        unit: 'short',
        bad: 1,
        queries: {
          nowhere:
            `abs(sum(tidegauge_readings_received_total{${CHOSEN}})` +
            ['stored_total', 'duplicate_total', 'filtered_total', 'quarantined_total']
              .map((name) => ` - sum(tidegauge_readings_${name}{${CHOSEN}})`)
              .join('') +
            ` - sum(tidegauge_spool_readings{${CHOSEN}}) - sum(tidegauge_in_flight_readings{${CHOSEN}}))`,
        },
      }),
    ],
    Ledger: [
      lines({
        title: 'Readings',
        description:
          'Received readings, and what became of them. If more are received than the sum of the others, readings wait: see the dashboard Ingest and API.',
        unit: READINGS_PER_SECOND,
        width: 12,
        queries: {
          received: rate('tidegauge_readings_received_total'),
          stored: rate('tidegauge_readings_stored_total', '', ', backend=~"$backend"'),
          duplicate: rate('tidegauge_readings_duplicate_total'),
          filtered: rate('tidegauge_readings_filtered_total'),
          quarantined: rate('tidegauge_readings_quarantined_total'),
        },
      }),
      events({
        title: 'Gaps',
        description:
          'Skipped sequence numbers in each interval. If gaps do not close, look for messages that the broker dropped at the same time.',
        unit: 'short',
        width: 12,
        queries: { skipped: count('tidegauge_ledger_gap_readings_total') },
      }),
    ],
    Latency: [
      lines({
        title: "From the sensor's time stamp to the commit",
        description:
          'Includes the sensor and the network. High only here: a clock or a sensor that sends late; see "Stages".',
        unit: 's',
        log: true,
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
          'Time in each stage. store: in the database. queue: waiting for the database. travel: in the network, or a wrong clock.',
        unit: 's',
        bad: limit.storeSeconds,
        log: true,
        width: 12,
        queries: { '{{stage}}': quantile(0.99, 'tidegauge_stage_seconds', ', stage!="end_to_end"', 'stage') },
      }),
      lines({
        title: "Lead of sensors' clocks",
        description:
          'The largest lead since the last scrape. Above a few seconds, synchronize that sensor with NTP.',
        unit: 's',
        bad: limit.clockLeadSeconds,
        width: 12,
        queries: {
          '{{nodename}}': ofProcesses(`max by (instance) (tidegauge_clock_skew_seconds{${CHOSEN}})`),
        },
      }),
      lines({
        title: 'Readings in flight',
        description:
          'Readings that are received and not acknowledged. At MAX_IN_FLIGHT ingest stops receiving: see the dashboard Store.',
        unit: 'short',
        width: 12,
        queries: {
          '{{nodename}}': ofProcesses(`sum by (instance) (tidegauge_in_flight_readings{${CHOSEN}})`),
        },
      }),
    ],
  },
});
