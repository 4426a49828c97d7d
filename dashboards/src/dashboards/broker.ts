import { CONFIG } from '../config.ts';
import { dashboard } from '../dashboard.ts';
import {
  allAre,
  CHOSEN,
  count,
  countLastHour,
  events,
  lines,
  MESSAGES_PER_SECOND,
  number,
  rate,
} from '../panels.ts';

export const broker = dashboard({
  uid: 'tidegauge-broker',
  title: 'Tidegauge / Broker',
  description: 'Statistics that mosquitto publishes under $SYS, from the exporter services/broker-metrics.',
  chosenFrom: 'mosquitto_up',
  rows: {
    Now: [
      number({
        title: 'Up',
        description:
          'down: the exporter is not connected to the broker, or does not answer. Check that the broker runs, and the password of the exporter.',
        unit: 'short',
        badBelow: 1,
        words: { 0: 'down', 1: 'up' },
        queries: { up: allAre('mosquitto_up', CONFIG.jobs.broker) },
      }),
      number({
        title: 'Dropped in the last hour',
        description:
          'Messages that the broker acknowledged to the publisher and then dropped. Raise max_queued_messages, or fix the slow client.',
        unit: 'short',
        bad: 1,
        queries: { dropped: countLastHour('mosquitto_publish_dropped_total') },
      }),
      number({
        title: 'Messages in queues now',
        description:
          'Messages that are queued, in flight or retained. If the number grows, a client with a session is disconnected or too slow.',
        unit: 'short',
        // The broker may report it only when it changes.
        whenAbsent: 'Not reported',
        queries: { queued: `sum(mosquitto_stored_messages{${CHOSEN}})` },
      }),
      number({
        title: 'Clients',
        description:
          'Clients that are connected now. If a sensor or a service is missing, read the log of the broker.',
        unit: 'short',
        queries: { connected: `sum(mosquitto_clients_connected{${CHOSEN}})` },
      }),
      number({
        title: 'Uptime',
        description:
          'Time since the broker started. If it restarted by surprise, the kernel may have killed it for lack of memory: see the dashboard Boards.',
        unit: 's',
        queries: { uptime: `min(mosquitto_uptime_seconds{${CHOSEN}})` },
      }),
      number({
        title: 'Age of this report',
        description:
          'Above a minute, sys_interval in mosquitto.conf is 0 or long, and these panels show old values.',
        unit: 's',
        bad: 60,
        queries: { age: `max(mosquitto_report_age_seconds{${CHOSEN}})` },
      }),
    ],
    Messages: [
      lines({
        title: 'Messages published',
        description:
          'Messages per second, in and out. If far fewer go out than come in, no client subscribes, or queues fill: see "Messages in queues".',
        unit: MESSAGES_PER_SECOND,
        queries: {
          received: rate('mosquitto_publish_received_total'),
          sent: rate('mosquitto_publish_sent_total'),
        },
      }),
      events({
        title: 'Messages dropped',
        description:
          'Lost messages in each interval. The broker reports this loss nowhere else. See the runbook TidegaugeBrokerDropping.',
        unit: 'short',
        queries: { dropped: count('mosquitto_publish_dropped_total') },
      }),
      lines({
        title: 'All packets',
        description:
          'MQTT packets per second, with acknowledgements and pings. If there are far more than twice the published messages, clients reconnect often.',
        unit: 'ops',
        queries: {
          received: rate('mosquitto_messages_received_total'),
          sent: rate('mosquitto_messages_sent_total'),
        },
      }),
      lines({
        title: 'Payload',
        description:
          'Payload bytes per second. If it rises at the same message rate, a sensor sends larger messages.',
        unit: 'Bps',
        queries: {
          received: rate('mosquitto_publish_received_bytes_total'),
          sent: rate('mosquitto_publish_sent_bytes_total'),
        },
      }),
      lines({
        title: 'Network',
        description:
          'Bytes per second with protocol overhead. Near the capacity of the link (12 MB/s for 100 Mbit/s), put more readings into one message.',
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
        description:
          'Sessions of disconnected clients keep queues. If there are many, set a session expiry interval.',
        unit: 'short',
        queries: {
          connected: `sum(mosquitto_clients_connected{${CHOSEN}})`,
          disconnected: `sum(mosquitto_clients_disconnected{${CHOSEN}})`,
        },
      }),
      events({
        title: 'Sessions expired',
        description:
          'Sessions that ended in each interval, together with their queues. If ingest was among them, its queued messages are lost.',
        unit: 'short',
        queries: { expired: count('mosquitto_clients_expired_total') },
      }),
      lines({
        title: 'Messages in queues',
        description:
          'Near max_queued_messages the broker starts to drop messages. Start ingest again, or fix what makes it slow.',
        unit: 'short',
        bad: CONFIG.thresholds.brokerQueuedMessages,
        queries: {
          queued: `sum(mosquitto_stored_messages{${CHOSEN}})`,
        },
      }),
      lines({
        title: 'Bytes in queues',
        description:
          'Payload bytes of all queued messages. Near the memory limit of the broker, lower max_queued_bytes.',
        unit: 'bytes',
        queries: { queued: `sum(mosquitto_stored_bytes{${CHOSEN}})` },
      }),
      lines({
        title: 'Memory',
        description:
          'Heap of mosquitto, if its build reports it. If it grows while "Bytes in queues" does not, report it to the mosquitto project.',
        unit: 'bytes',
        queries: { heap: `sum(mosquitto_heap_bytes{${CHOSEN}})` },
      }),
      lines({
        title: 'Subscriptions',
        description: 'If the number falls, a client has lost its session. Read the log of that client.',
        unit: 'short',
        queries: { subscriptions: `sum(mosquitto_subscriptions{${CHOSEN}})` },
      }),
    ],
  },
});
