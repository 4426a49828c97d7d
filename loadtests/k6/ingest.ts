import { type Client, connect, type PublishError } from 'k6/x/tidegauge/mqtt';
import type { Outcome } from '../src/operations/outcome.ts';
import { ReadingsStream } from '../src/operations/readings-stream.ts';
import { done, Meter } from './meter.ts';
import { optionsOf, Pace, partOf, plan, thread } from './scenario.ts';

export { handleSummary } from './summary.ts';

/** Readings over MQTT: one message per iteration. Each virtual user is a connection with its own devices. */
export const options = optionsOf(plan);

const RECEIVE_MS = 30_000;
const OUTCOMES: Readonly<Record<PublishError['kind'], Outcome>> = {
  publish: 'ERROR',
  timeout: 'TIMEOUT',
  lost: 'CONNECTION',
};

const part = partOf('ingest');
const publishing = new Meter('publish');
const receiving = new Meter('receive');

const stream = new ReadingsStream(part, plan.seed, thread);
let pace: Pace | null = null;
let client: Client | null = null;
let expected = 0;
/** The last error of a connection. A broker that is unavailable fails each iteration in the same way. */
let told = '';

export async function ingest(): Promise<void> {
  pace ??= new Pace(part.model);
  const due = pace.next();
  if (due === null || !connected()) return;
  const { topic, payload } = stream.next(Date.now() * 1000);
  const lateMs = Math.max(0, pace.now() - due);
  try {
    await client!.publish(topic, payload, { qos: part.qos, lateMs, track: part.receive });
  } catch (error) {
    publishing.count(OUTCOMES[(error as PublishError).kind]);
    return;
  }
  publishing.count('OK');
  if (part.receive) {
    const received = client!.waitReceived(++expected, RECEIVE_MS);
    receiving.count(received ? 'OK' : 'TIMEOUT');
    if (!received) return;
  }
  done.add(1);
}

/** Connects if there is no connection. If that fails, the message counts as an operation with outcome CONNECTION. */
function connected(): boolean {
  if (client?.isConnected()) return true;
  const { url, username, password, ca } = plan.broker!;
  try {
    client = connect({
      url,
      clientId: `${part.run}-${thread}`,
      ...(username === null ? {} : { username }),
      ...(password === null ? {} : { password }),
      ...(ca === null ? {} : { ca }),
    });
    if (part.receive) client.subscribe(stream.filter, part.qos);
    expected = 0;
    return true;
  } catch (error) {
    const problem = String(error);
    if (problem !== told) console.error(problem);
    told = problem;
    client = null;
    publishing.count('CONNECTION');
    return false;
  }
}
