import { connectAsync } from 'mqtt';

// The peer: MQTT.js as its documentation has it, QoS 1, acknowledged on arrival, nothing stored. It prints a line
// when subscribed and one with its count when `expected` messages have come.
const [url, expected] = process.argv.slice(2);
let received = 0;
const client = await connectAsync(url!, { protocolVersion: 5, clientId: 'mqttjs-consumer', clean: true });
client.on('message', () => {
  received++;
  if (received === Number(expected)) process.stdout.write(`${received}\n`);
});
await client.subscribeAsync('sensors/#', { qos: 1 });
process.stdout.write('ready\n');
process.on('SIGTERM', () => void client.endAsync().then(() => process.exit(0)));
