import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildK6 } from '@tidegauge/lab/k6';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runK6 } from '@tidegauge/loadtests/drivers/run-k6';
import type { Model, Plan } from '@tidegauge/loadtests/operations/plan';
import { RECORD_SCRIPTS } from '@tidegauge/loadtests/profiles/records-profile';
import type { K6Summary } from '@tidegauge/loadtests/results/summary';
import { waitUntil } from '@tidegauge/process';
import { deterministicValue, fieldNames, parseWorkload } from '@tidegauge/workload';

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-k6-records-'));
after(() => rmSync(folder, { recursive: true }));

const THREADS = 3;
const OPERATIONS = 600;
const workload = parseWorkload(
  [
    'recordcount=500',
    'dataintegrity=true',
    'fieldlength=40',
    'fieldcount=4',
    'requestdistribution=latest',
    'readproportion=0.3',
    'updateproportion=0.2',
    'insertproportion=0.2',
    'scanproportion=0.1',
    'readmodifywriteproportion=0.2',
  ].join('\n'),
  { file: 'test' },
);
const fields = fieldNames(workload);

/** An answer of the API that depends on the request only, so that both scripts receive the same ones. */
function answerTo(head: string): string {
  const key = /\/(user\d+)/.exec(head)?.[1] ?? '';
  const kind = Number(key.slice(-2) || '99');
  if (kind < 4) return response('404 Not Found', '{}');
  if (kind < 8) return response('503 Service Unavailable', '{}');
  if (kind < 10) return response('409 Conflict', '{}');
  const damage = kind < 14 ? 'x' : '';
  const values = fields.map((name) => [name, deterministicValue(key, name, 40) + damage]);
  return response('200 OK', JSON.stringify({ key, fields: Object.fromEntries(values) }));
}

function response(status: string, body: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A server that keeps the exact bytes of all requests, by connection. */
async function startRecorder() {
  const connections: string[][] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const requests: string[] = [];
    connections.push(requests);
    open.add(socket);
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
      for (;;) {
        const head = text.indexOf('\r\n\r\n') + 4;
        if (head < 4) return;
        const length = head + Number(/\r\nContent-Length: (\d+)/.exec(text.slice(0, head))?.[1] ?? 0);
        if (text.length < length) return;
        const request = text.slice(0, length);
        requests.push(request);
        text = text.slice(length);
        socket.write(answerTo(request.slice(0, head)));
      }
    });
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take: () => connections.splice(0).filter((requests) => requests.length > 0),
    open: () => open.size,
    stop() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

const started = await startOrSkip('k6', buildK6);
const skip = 'skip' in started ? started.skip : false;
const k6 = 'skip' in started ? '' : started.server;
const recorder = await startRecorder();
after(() => recorder.stop());

const thresholds = {
  op_read: ['p(99)<0.00001', 'min>=0'],
  op_insert_return_EXISTS: ['count<1'],
  http_req_failed: ['rate<0.9', 'rate<0.0001'],
  http_req_duration: ['p(95)<60000'],
  iterations: ['count>0'],
};

function planOf(model: Model, rows: boolean): Plan {
  return {
    parts: [{ profile: 'records', workload, model }],
    seed: 7,
    api: { url: recorder.url, token: 'a-token' },
    broker: null,
    thresholds,
    rows,
  };
}

interface Run {
  readonly figures: K6Summary;
  readonly requests: string[][];
  /** How often each metric occurs with each of its tags, and each sum of a counter. */
  readonly samples: Record<string, number>;
}

async function run(driver: keyof typeof RECORD_SCRIPTS, model: Model): Promise<Run> {
  const samples = join(folder, `${driver}.csv`);
  const script = RECORD_SCRIPTS[driver];
  const signal = new AbortController().signal;
  const figures = await runK6(planOf(model, true), { k6, script, dashboardPort: null, samples, signal });
  return { figures, requests: recorder.take(), samples: samplesIn(samples) };
}

function samplesIn(path: string): Record<string, number> {
  const [head, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n');
  const columns = head!.split(',');
  const found: Record<string, number> = {};
  for (const line of lines) {
    const cells = line.split(',');
    const name = cells[0]!;
    // Traffic is reported in parts, and these gauges in intervals.
    if (['vus', 'vus_max', 'data_sent', 'data_received', 'iteration_duration'].includes(name)) continue;
    const tags = columns.flatMap((column, index) =>
      ['metric_name', 'timestamp', 'metric_value'].includes(column) || cells[index] === ''
        ? []
        : // k6 writes the tags of a sample in any order.
          [`${column}=${cells[index]!.split('&').toSorted().join('&')}`],
    );
    const series = [name, ...tags].join(' ');
    found[series] = (found[series] ?? 0) + (name === 'http_req_failed' ? Number(cells[2]) : 1);
  }
  return found;
}

/** What must be equal: totals of counters and rates, the number of measurements of trends, and the thresholds. */
function comparable({ metrics }: K6Summary): Record<string, unknown> {
  const left = Object.entries(metrics).filter(([name]) => !['vus', 'vus_max'].includes(name));
  return Object.fromEntries(
    left.map(([name, { values, thresholds: judged }]) => {
      const { count, passes, fails } = values;
      // A thread of our module has one iteration for all its operations.
      return [name, { ...(name === 'iteration_duration' ? {} : { count, passes, fails }), judged }];
    }),
  );
}

test('our module of k6 sends the same bytes as the script in JavaScript, and reports the same metrics', {
  skip,
}, async () => {
  const model = {
    kind: 'closed',
    threads: THREADS,
    operations: OPERATIONS,
    durationMs: null,
    rate: null,
  } as const;
  const reference = await run('k6-js', model);
  const ours = await run('k6', model);
  // k6/http sometimes opens another connection. Our module keeps the one of each thread.
  assert.equal(ours.requests.length, THREADS);
  assert.deepEqual(ours.requests.flat().toSorted(), reference.requests.flat().toSorted());
  assert.match(ours.requests[0]![0]!, /\r\nAuthorization: Bearer a-token\r\n/);
  assert.deepEqual(comparable(ours.figures), comparable(reference.figures));
  assert.deepEqual(ours.samples, reference.samples);
  // The comparison includes failures, checks of values and crossed thresholds.
  const { metrics } = ours.figures;
  for (const name of ['op_read_return_NOT_FOUND', 'op_verify_return_UNEXPECTED_STATE', 'op_scan', 'op_row']) {
    assert.ok(metrics[name]!.values.count! > 0, name);
  }
  assert.equal(metrics.iterations!.values.count, OPERATIONS);
  assert.deepEqual(metrics.http_req_failed!.thresholds, {
    'rate<0.9': { ok: true },
    'rate<0.0001': { ok: false },
  });
});

test('in the open model our module has the schedule of k6, and the same operations', { skip }, async () => {
  const stages = [{ rate: 60, durationMs: 1000 }];
  const model = { kind: 'open', threads: 8, startRate: 60, stages } as const;
  const { figures, requests } = await run('k6', model);
  const {
    iterations,
    dropped_iterations: dropped,
    op_read_intended: intended,
    op_read: read,
  } = figures.metrics;
  const started = iterations!.values.count! + (dropped?.values.count ?? 0);
  // k6 may start one more operation at the end.
  assert.ok([60, 61].includes(started), String(started));
  assert.ok(requests.length <= 8);
  assert.equal(intended!.values.count, read!.values.count);
});

test('an interrupted run of our module ends at once, with the figures of what it has done', {
  skip,
}, async () => {
  const model = { kind: 'closed', threads: 4, operations: null, durationMs: 60_000, rate: 400 } as const;
  const stop = new AbortController();
  const options = { k6, script: RECORD_SCRIPTS.k6, dashboardPort: null, signal: stop.signal };
  const running = runK6(planOf(model, false), options);
  while (recorder.open() < 4) await sleep(20);
  await sleep(500);
  const began = performance.now();
  stop.abort();
  const { metrics } = await running;
  assert.ok(performance.now() - began < 20_000);
  const sent = recorder.take().flat().length;
  const counted = metrics.http_reqs!.values.count!;
  // Each of the threads may have been interrupted in a request.
  assert.ok(counted <= sent && counted >= sent - 4 && counted > 0, `${counted} of ${sent}`);
  await waitUntil('the end of its connections', () => recorder.open() === 0, { timeoutMs: 10_000 });
});
