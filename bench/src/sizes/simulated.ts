import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runProgram, temporaryDirectory } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { seeded } from '@tidegauge/workload';
import { PYTHON, setUpSimulator } from '../../../scripts/setup.js';

/** The kinds of signals of the simulator. */
export const KINDS = ['temperature', 'humidity', 'pressure', 'power', 'battery', 'door', 'counter'] as const;

const DAYS = 30;
const QUICK_SECONDS = 5000;
const BATCH = 5000;
const LIMIT_MS = 600_000;
const START = '2026-01-01T00:00:00Z';
/** Writes the payloads that the simulator would send, without the time between them. */
const WRITE = `
import sys
from tidegauge_sim import options, schedule
path, *flags = sys.argv[1:]
with open(path, 'wb') as file:
    for message in schedule.schedule(options.load(flags, {})):
        file.write(message.payload + b'\\n')
`;

/**
 * A sensor with one metric that sends a reading a second, with boot and number, by the code of the simulator itself. It is
 * received 2 to 20 ms after its time, in microseconds, as ingest stamps it.
 *
 * @param quick 5,000 readings instead of 30 days
 */
export async function* readSimulated(kind: string, quick: boolean): AsyncGenerator<readonly Reading[]> {
  await setUpSimulator();
  const folder = temporaryDirectory('simulated');
  try {
    const file = join(folder.path, 'payloads');
    const seconds = quick ? QUICK_SECONDS : DAYS * 86_400;
    const flags = ['--sensors', '1', '--metrics', kind, '--start', START, '--duration', `${seconds}`];
    await runProgram(PYTHON, ['-c', WRITE, file, ...flags], { timeoutMs: LIMIT_MS });
    const random = seeded(1);
    let batch: Reading[] = [];
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const { t: time, v, boot, seq } = JSON.parse(line);
      const received = time + 2000 + Math.floor(-3000 * Math.log(1 - 0.997 * random.double()));
      batch.push({
        device: 'probe',
        metric: kind,
        time,
        value: Number(v),
        received,
        boot,
        seq,
        quality: 'ok',
      });
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  } finally {
    folder.remove();
  }
}
