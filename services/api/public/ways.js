// The ways to publish a first reading, as texts. This module does not use the DOM.

/**
 * @param addresses where MQTT is: `{port, tls, local, login}`; empty if it is not known
 * @param host the host name of this page
 * @param origin its address, for HTTP
 * @param isKeyNeeded whether a reading by HTTP needs a key
 * @returns `ways`, each `{name, text, route}` with the entry of the routes file that it needs or null, and `notes`
 */
export function waysTo({ addresses, host, origin, isKeyNeeded }) {
  // Sensors on other machines need an address that they reach.
  const address = addresses.find(({ local }) => !local) ?? addresses[0] ?? null;
  const http = httpWay(origin, isKeyNeeded);
  if (address === null) return { ways: [http], notes: [] };
  const mqtt = { ...address, host: host.replace(/^\[|\]$/g, ''), topic: topicOf(address) };
  return {
    ways: [publisher(mqtt), python(mqtt), esphome(mqtt), tasmota(mqtt), zigbee2mqtt(mqtt), http],
    notes: notesOf(address),
  };
}

/** A user of one sensor may publish below its own name. */
function topicOf({ login }) {
  return `sensors/${login === 'own' ? 'USER' : 'desk'}/temperature`;
}

function publisher({ host, port, tls, login, topic }) {
  const options = [
    `-h ${host} -p ${port}`,
    ...(tls ? ['--cafile ca.pem'] : []),
    ...(login === 'none' ? [] : ['-u USER -P PASSWORD']),
    `-q 1 -t ${topic}`,
    '-m 21.5',
  ];
  return { name: 'mosquitto_pub', text: `mosquitto_pub ${options.join(' ')}`, route: null };
}

function python({ host, port, tls, login, topic }) {
  const options = [
    `'${topic}', '21.5', qos=1`,
    `hostname='${host}', port=${port}`,
    ...(login === 'none' ? [] : ["auth={'username': 'USER', 'password': 'PASSWORD'}"]),
    ...(tls ? ["tls={'ca_certs': 'ca.pem'}"] : []),
  ];
  const text = [
    '# python3 -m pip install paho-mqtt',
    'from paho.mqtt import publish',
    '',
    'publish.single(',
    ...options.map((option) => `    ${option},`),
    ')',
  ];
  return { name: 'Python', text: text.join('\n'), route: null };
}

function esphome({ host, port, tls, login }) {
  const text = [
    'mqtt:',
    `  broker: ${quoted(host)}`,
    `  port: ${port}`,
    ...(login === 'none' ? [] : ['  username: USER', '  password: PASSWORD']),
    ...(tls ? ['  certificate_authority: |', '    (the content of ca.pem)'] : []),
  ];
  return { name: 'ESPHome', text: text.join('\n'), route: { preset: 'esphome' } };
}

function tasmota({ host, port, tls, login }) {
  const commands = [
    `MqttHost ${host}`,
    `MqttPort ${port}`,
    ...(login === 'none' ? [] : ['MqttUser USER', 'MqttPassword PASSWORD']),
    ...(tls ? ['SetOption103 1'] : []),
    'TelePeriod 60',
  ];
  return { name: 'Tasmota', text: `Backlog ${commands.join('; ')}`, route: { preset: 'tasmota' } };
}

function zigbee2mqtt({ host, port, tls, login }) {
  const text = [
    'mqtt:',
    `  server: ${tls ? 'mqtts' : 'mqtt'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...(login === 'none' ? [] : ['  user: USER', '  password: PASSWORD']),
    ...(tls ? ['  ca: ca.pem'] : []),
  ];
  return { name: 'Zigbee2MQTT', text: text.join('\n'), route: { preset: 'zigbee2mqtt' } };
}

function httpWay(origin, isKeyNeeded) {
  const lines = [
    "curl -H 'Content-Type: text/plain'",
    ...(isKeyNeeded ? ["-H 'Authorization: Bearer KEY'"] : []),
    `-d 21.5 '${origin}/v1/readings?device=desk&metric=temperature'`,
  ];
  return { name: 'HTTP', text: lines.join(' \\\n  '), route: null };
}

const LOCAL =
  'MQTT listens on this machine only. For other machines, start with --listen 0.0.0.0 (ingest: LISTEN).';
const TLS = 'ca.pem is the file of the authority that signed the certificate of MQTT.';
const OWN =
  'Each sensor has its own user (npm run passwords), who may publish below sensors/USER/. Other topics need LISTEN_ACL.';

function notesOf({ local, tls, login }) {
  return [...(local ? [LOCAL] : []), ...(tls ? [TLS] : []), ...(login === 'own' ? [OWN] : [])];
}

/** A text of YAML: an IPv6 address has colons. */
function quoted(text) {
  return text.includes(':') ? `'${text}'` : text;
}
