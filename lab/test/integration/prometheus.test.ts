import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, startMosquitto } from '@tidegauge/lab';
import { type Prometheus, type PrometheusSample, startPrometheus } from '@tidegauge/lab/prometheus';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { publish } from '@tidegauge/test-support/publisher';
import { testWith } from '../../src/unavailable.ts';

const test = await testWith('prometheus', () =>
  Promise.all([findProgram('prometheus', 'prometheus'), findProgram('mosquitto', 'mosquitto')]),
);
const COUNT = 2000;
const SCRAPED_MS = 20_000;

async function until(
  prometheus: Prometheus,
  expression: string,
  done: (samples: readonly PrometheusSample[]) => boolean,
): Promise<PrometheusSample[]> {
  for (const deadline = Date.now() + SCRAPED_MS; ; await sleep(100)) {
    const samples = await prometheus.query(expression);
    if (done(samples)) return samples;
    assert.ok(Date.now() < deadline, `${expression} stayed ${JSON.stringify(samples)}`);
  }
}

test('Prometheus scrapes ingest and returns the stored samples, also after a restart', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-prometheus-test-'));
  context.after(() => rm(directory, { recursive: true }));
  const broker = await startMosquitto();
  context.after(() => broker.stop());
  const ingest = await startIngestProcess({
    STORE: `sqlite:${join(directory, 'store.db')}`,
    BROKER: broker.url,
    DATA_DIR: directory,
  });
  context.after(() => ingest.stop());
  const prometheus = await startPrometheus({
    targets: { ingest: [new URL(ingest.url).host] },
    scrapeMs: 200,
  });
  context.after(() => prometheus.stop());

  await until(prometheus, 'up{job="ingest"}', ([up]) => up?.value === 1);
  await publish({ port: broker.port, count: COUNT, devices: 10 });
  const stored = 'sum by (backend) (tidegauge_readings_stored_total)';
  const [series] = await until(prometheus, stored, ([sum]) => sum?.value === COUNT);
  assert.deepEqual(series?.labels, { backend: 'sqlite' });

  await prometheus.restart();
  const [kept] = await prometheus.query(`max_over_time(tidegauge_readings_stored_total[5m])`);
  assert.equal(kept?.value, COUNT, 'it kept what it had scraped');
  await assert.rejects(prometheus.query('sum('), /prometheus refused sum\(: .*parse error/);
});

test('a target without a listener is down, and is not an error', async (context) => {
  const prometheus = await startPrometheus({ targets: { gone: ['127.0.0.1:9'] }, scrapeMs: 200 });
  context.after(() => prometheus.stop());
  await until(prometheus, 'up{job="gone"}', ([up]) => up?.value === 0);
});
