import { join } from 'node:path';
import { startMosquitto } from '@tidegauge/lab';
import type { AnyBroker } from '@tidegauge/lab/any-broker';
import { runProgram } from '@tidegauge/process';
import mqtt from 'mqtt';
import type { CutTarget } from './cut-target.ts';
import { Traffic } from './traffic.ts';

/** A broker that delivers nothing for this time does not have the rest of the messages. */
const SILENT_MS = 30_000;
/** The session of the subscriber. */
export const SESSION_ID = 'power-cuts';
const SESSION = { clientId: SESSION_ID, clean: false, reconnectPeriod: 0 } as const;
const TOPIC = 'sensors/#';
const END_TOPIC = 'sensors/end';
const END = 'end';
/** mosquitto saves its queues seldom. */
export const BROKER_PAUSE_MS = 8000;

/** @param conf further lines of mosquitto.conf */
export function mosquittoTarget(conf: readonly string[]): CutTarget {
  return brokerTarget((directory) => startMosquitto({ directory, persistence: true, conf }));
}

/**
 * A broker whose subscriber is not connected, so that it keeps all messages.
 *
 * @param launch starts it with its data in a directory, which can be missing
 */
export function brokerTarget(launch: (directory: string) => Promise<AnyBroker>): CutTarget {
  const launchOn = (disk: string): Promise<AnyBroker> => launch(join(disk, 'broker'));
  return {
    mustKeep: false,
    files: [],
    pauseMs: BROKER_PAUSE_MS,
    async start(disk, closers) {
      const broker = await launchOn(disk);
      closers.add(() => broker.stop());
      await makeSession(broker, disk);
      const source = await Traffic.start(broker.url, 'reading');
      closers.add(() => source.stop());
      return { source, pid: broker.pid, kill: () => broker.kill() };
    },
    async found(disk) {
      const broker = await launchOn(disk);
      try {
        return await queuedAt(broker.url);
      } finally {
        await broker.stop();
      }
    },
  };
}

/** Makes the session of the subscriber at a broker, whose files are on a disk. */
export async function makeSession(broker: AnyBroker, disk: string): Promise<void> {
  const subscriber = await mqtt.connectAsync(broker.url, SESSION);
  await subscriber.subscribeAsync(TOPIC, { qos: 1 });
  await subscriber.endAsync();
  // A stop saves the session. mosquitto does not sync the directory after that.
  await broker.restart();
  await runProgram('sync', ['-f', disk]);
}

/**
 * Takes all messages of the session. They come in their order, so the last one is the one that is published here. A
 * broker that has lost the session has none of them: the result is null.
 */
export async function queuedAt(url: string): Promise<ReadonlySet<number> | null> {
  const numbers = new Set<number>();
  let hasSession = true;
  const ended = Promise.withResolvers<void>();
  const subscriber = mqtt.connect(url, SESSION);
  const silence = setTimeout(() => {
    if (subscriber.connected) ended.resolve();
    else ended.reject(new Error('the broker did not accept its subscriber'));
  }, SILENT_MS);
  subscriber.on('message', (_topic, payload) => {
    silence.refresh();
    const text = payload.toString();
    if (text === END) ended.resolve();
    else numbers.add((JSON.parse(text) as { readonly v: number }).v);
  });
  subscriber.on('error', ended.reject);
  subscriber.on('close', () => ended.reject(new Error('the broker closed the connection')));
  subscriber.on('connect', ({ sessionPresent }) => {
    hasSession = sessionPresent;
    if (sessionPresent) subscriber.publish(END_TOPIC, END, { qos: 1 });
    else ended.resolve();
  });
  try {
    await ended.promise;
    return hasSession ? numbers : null;
  } finally {
    clearTimeout(silence);
    await subscriber.endAsync(true);
  }
}
