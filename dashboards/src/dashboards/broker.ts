import { dashboard } from '../dashboard.ts';
import { CHOSEN, lines, number, rate } from '../panels.ts';

export const broker = dashboard({
  uid: 'tidegauge-broker',
  title: 'Tidegauge / Broker',
  description:
    "What mosquitto says of itself under $SYS, by Tidegauge's own exporter (services/broker-metrics).",
  chosenFrom: 'mosquitto_up',
  rows: {
    Now: [
      number({
        title: 'Up',
        description: '0: the exporter has no session with the broker. Is it running? Is its password right?',
        unit: 'short',
        badBelow: 1,
        queries: { up: `min(mosquitto_up{${CHOSEN}})` },
      }),
      number({
        title: 'Dropped in the last hour',
        description:
          'Messages lost though their publishers were told yes. Raise max_queued_messages; mend the slow client.',
        unit: 'short',
        bad: 1,
        queries: { dropped: `sum(increase(mosquitto_publish_dropped_total{${CHOSEN}}[1h]))` },
      }),
      number({
        title: 'Held',
        description:
          'Messages queued, in flight and retained. Growing: a client with a session is away or too slow.',
        unit: 'short',
        queries: { held: `sum(mosquitto_stored_messages{${CHOSEN}})` },
      }),
      number({
        title: 'Clients',
        description: 'Connected now. Fewer than sensors and services: see who is missing in the broker log.',
        unit: 'short',
        queries: { connected: `sum(mosquitto_clients_connected{${CHOSEN}})` },
      }),
      number({
        title: 'Uptime',
        description:
          'Time since the broker started. Small and unplanned: it was killed; is memory short? See Boards.',
        unit: 's',
        queries: { uptime: `min(mosquitto_uptime_seconds{${CHOSEN}})` },
      }),
      number({
        title: 'Age of this report',
        description:
          'Above a minute: sys_interval is 0 or long in mosquitto.conf; these panels then show the past.',
        unit: 's',
        bad: 60,
        queries: { age: `max(mosquitto_report_age_seconds{${CHOSEN}})` },
      }),
    ],
    Messages: [
      lines({
        title: 'Published',
        description:
          'Messages in and out per second. Out far below in: nobody subscribes, or queues fill; see "Held".',
        unit: 'ops',
        queries: {
          received: rate('mosquitto_publish_received_total'),
          sent: rate('mosquitto_publish_sent_total'),
        },
      }),
      lines({
        title: 'Dropped',
        description:
          'Anything above zero is loss that nobody else will tell you of. See the runbook TidegaugeBrokerDropping.',
        unit: 'ops',
        queries: { dropped: rate('mosquitto_publish_dropped_total') },
      }),
      lines({
        title: 'All packets',
        description:
          'Acknowledgements and pings included. Far more than twice "Published": clients reconnect all the time.',
        unit: 'ops',
        queries: {
          received: rate('mosquitto_messages_received_total'),
          sent: rate('mosquitto_messages_sent_total'),
        },
      }),
      lines({
        title: 'Payload',
        description:
          'Payload bytes per second. A jump at the same message rate: a sensor sends more than it should.',
        unit: 'Bps',
        queries: {
          received: rate('mosquitto_publish_received_bytes_total'),
          sent: rate('mosquitto_publish_sent_bytes_total'),
        },
      }),
      lines({
        title: 'Network',
        description:
          'Bytes per second with protocol. Near the link (100 Mbit/s is 12 MB/s): batch readings in messages.',
        unit: 'Bps',
        queries: {
          received: rate('mosquitto_received_bytes_total'),
          sent: rate('mosquitto_sent_bytes_total'),
        },
      }),
    ],
    'Clients and queues': [
      lines({
        title: 'Sessions',
        description: 'Sessions of clients that are away keep queues. Many: give them a session expiry.',
        unit: 'short',
        queries: {
          connected: `sum(mosquitto_clients_connected{${CHOSEN}})`,
          away: `sum(mosquitto_clients_disconnected{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Sessions expired',
        description:
          'Sessions per second that ended with their queues. One of ingest among them: its messages are gone.',
        unit: 'ops',
        queries: { expired: rate('mosquitto_clients_expired_total') },
      }),
      lines({
        title: 'Messages held',
        description:
          'Towards max_queued_messages the broker begins to drop. Bring ingest back, or make it faster.',
        unit: 'short',
        queries: {
          held: `sum(mosquitto_stored_messages{${CHOSEN}})`,
          retained: `sum(mosquitto_retained_messages{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Bytes held',
        description: 'Payload bytes of what is held. Near the memory of the board: lower max_queued_bytes.',
        unit: 'bytes',
        queries: { held: `sum(mosquitto_stored_bytes{${CHOSEN}})` },
      }),
      lines({
        title: 'Memory',
        description:
          'Heap, where mosquitto was built to tell. Growing with "Bytes held": queues; without: report it to them.',
        unit: 'bytes',
        queries: { heap: `sum(mosquitto_heap_bytes{${CHOSEN}})` },
      }),
      lines({
        title: 'Subscriptions',
        description: 'A drop to less than before: a client lost its session. See its log.',
        unit: 'short',
        queries: { subscriptions: `sum(mosquitto_subscriptions{${CHOSEN}})` },
      }),
    ],
  },
});
