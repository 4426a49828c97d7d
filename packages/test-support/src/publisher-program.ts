import { parseArgs } from 'node:util';
import { publish } from './publisher.ts';

// The publisher as its own process: on two cores it must not share a thread with what it measures.
const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    count: { type: 'string' },
    devices: { type: 'string', default: '500' },
    rate: { type: 'string' },
    first: { type: 'string', default: '0' },
    prefix: { type: 'string', default: 'bench' },
  },
});
const { port, count, devices, rate, first, prefix } = values;
const stopped = new AbortController();
process.once('SIGTERM', () => stopped.abort());
const result = await publish({
  port: Number(port),
  count: Number(count),
  devices: Number(devices),
  first: Number(first),
  prefix,
  signal: stopped.signal,
  ...(rate === undefined ? {} : { rate: Number(rate) }),
});
process.stdout.write(`${JSON.stringify(result)}\n`);
