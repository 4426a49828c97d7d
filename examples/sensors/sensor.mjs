// A sensor in Node.js with MQTT.js. It measures the load of this machine once per INTERVAL_MS and publishes it with QoS 1.
//   npm install mqtt@5
//   BROKER_URL=mqtt://192.0.2.11 node sensor.mjs
// With TLS: BROKER_URL=mqtts://192.0.2.11 CA_FILE=ca.pem MQTT_USER=site-1 MQTT_PASSWORD=... node sensor.mjs
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import mqtt from 'mqtt';

const {
  BROKER_URL = 'mqtt://127.0.0.1',
  CA_FILE,
  MQTT_USER,
  MQTT_PASSWORD,
  INTERVAL_MS = '1000',
} = process.env;
const COUNT = Number(process.env.COUNT ?? Number.POSITIVE_INFINITY);
const device = `${MQTT_USER ?? 'site-1'}/server`;
const topic = `sensors/${device}/load`;
/** The last readings by number, to send again what did not arrive. */
const KEEP = 10_000;
const kept = new Map();

// A new boot at every start, and a number for each reading. The ledger then lists each missing reading.
const boot = randomBytes(4).toString('hex');
let seq = 0;
/** Messages that the broker has not acknowledged. */
let waiting = 0;
let isStopping = false;

const client = mqtt.connect(BROKER_URL, {
  ...(CA_FILE === undefined ? {} : { ca: readFileSync(CA_FILE) }),
  ...(MQTT_USER === undefined ? {} : { username: MQTT_USER, password: MQTT_PASSWORD }),
});
client.on('error', ({ message }) => console.error(message));
client.on('reconnect', () => console.error('connecting again'));
client.on('connect', () => client.subscribe(`tidegauge/resend/${device}`));
client.on('message', (_topic, payload) => {
  try {
    sendAgain(JSON.parse(payload));
  } catch (error) {
    console.error(`no request: ${error.message}`);
  }
});

const timer = setInterval(publish, Number(INTERVAL_MS));
publish();

function publish() {
  // The time of the measurement: a reading that waits while the broker is unavailable keeps it.
  const reading = { t: Date.now(), v: loadavg()[0], boot, seq };
  seq += 1;
  kept.set(reading.seq, JSON.stringify(reading));
  kept.delete(seq - 1 - KEEP);
  // MQTT.js keeps messages in memory while the broker is unavailable, and publishes them after it reconnects.
  send(topic, kept.get(reading.seq));
  if (seq >= COUNT) stop();
}

/** Answers a request: publishes what is kept, and states which is the first one if older ones are requested. */
function sendAgain(request) {
  const [oldest = null] = request.boot === boot ? kept.keys() : [];
  for (const [from, to] of request.ranges)
    for (let number = Math.max(from, oldest ?? seq); number <= Math.min(to, seq - 1); number++)
      send(topic, kept.get(number));
  if (oldest !== null && request.ranges[0][0] >= oldest) return;
  send(`sensors/${device}/kept`, JSON.stringify({ boot: request.boot, kept: oldest }));
}

function send(to, payload) {
  waiting += 1;
  client.publish(to, payload, { qos: 1 }, () => {
    waiting -= 1;
    endWhenDone();
  });
}

/** Ends when the broker has acknowledged all readings. */
function stop() {
  clearInterval(timer);
  isStopping = true;
  endWhenDone();
}

/** MQTT.js sends nothing any more if it is ended before it has connected. */
function endWhenDone() {
  if (isStopping && waiting === 0) client.end();
}
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
