import { connectAsync } from 'mqtt';

// A consumer to compare with: MQTT.js as in its documentation, with QoS 1. It acknowledges on arrival and stores
// nothing. It prints one line when it has subscribed, and one with the count when it has received `expected` messages.
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
