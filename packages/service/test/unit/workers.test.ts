import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { Channel, Metrics, MetricsDesk, shareMetrics } from '@tidegauge/service';

/** Two ends of a real channel. Messages are copied, as between processes. */
function pair(t: TestContext): { readonly parent: Channel; readonly worker: Channel; sent: () => number } {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  let messages = 0;
  const [parent, worker] = [port1, port2].map(
    (port) =>
      new Channel({
        send: (message, sent) => {
          messages += 1;
          port.postMessage(JSON.parse(JSON.stringify(message)));
          sent();
        },
        onMessage: (listener) => port.on('message', listener),
      }),
  ) as [Channel, Channel];
  return { parent, worker, sent: () => messages };
}

test('calls are answered, in order, and those of one turn share a message', async (t) => {
  const { parent, worker, sent } = pair(t);
  const told: number[] = [];
  parent.on<number>('double', (value) => 2 * value);
  parent.on<number>('later', async (value) => sleep(1, value));
  parent.on<number>('told', (value) => told.push(value));
  worker.tell('told', 1);
  worker.tell('told', 2);
  const answers = [worker.call('double', 3), worker.call('later', 4), worker.call('double', 5)];
  assert.deepEqual(await Promise.all(answers), [6, 4, 10]);
  assert.deepEqual(told, [1, 2]);
  assert.ok(sent() <= 3, `${sent()} messages`);
});

test('a handler that fails rejects the call, and so does the end of the other process', async (t) => {
  const { parent, worker } = pair(t);
  parent.on('fails', async () => {
    throw new Error('no room');
  });
  parent.on('never', () => new Promise(() => {}));
  await assert.rejects(worker.call('fails', null), { message: 'no room' });
  const call = worker.call('never', null);
  worker.close();
  await assert.rejects(call, { message: 'the other process has ended' });
  await assert.rejects(worker.call('fails', null), { message: 'the other process has ended' });
});

test('what arrives before its handler is handled when there is one', async (t) => {
  const { parent, worker } = pair(t);
  const call = worker.call('early', 7);
  await sleep(10);
  parent.on<number>('early', (value) => value + 1);
  assert.equal(await call, 8);
});

test('the page of metrics adds workers, and keeps the counters of those that ended', async (t) => {
  const desk = new MetricsDesk(new Metrics('board'));
  t.after(() => desk.close());
  const start = (id: number) => {
    const { parent, worker } = pair(t);
    const metrics = new Metrics('board');
    const counts = { done: 0, open: 0 };
    metrics.counter('test_done_total', 'Done', () => [{ labels: { kind: 'a' }, value: counts.done }], [
      'kind',
    ]);
    metrics.gauge('test_open', 'Open', () => [{ value: counts.open }]);
    const seconds = metrics.histogram('test_seconds', 'Duration');
    shareMetrics(metrics, worker);
    const detach = desk.attach({ id, channel: parent, kill: () => {} });
    const end = () => {
      parent.close();
      detach();
    };
    return { counts, seconds, metrics, end };
  };
  const first = start(1);
  const second = start(2);
  Object.assign(first.counts, { done: 10, open: 3 });
  Object.assign(second.counts, { done: 5, open: 1 });
  first.seconds.with({ op: 'read' }).observe(0.5, 4);
  second.seconds.with({ op: 'read' }).observe(0.5, 2);
  const has = async (...lines: readonly string[]) => {
    const page = await second.metrics.text();
    for (const line of lines) assert.ok(page.split('\n').includes(line), `${line} is not in\n${page}`);
  };
  await has('test_done_total{kind="a"} 15', 'test_open 4', 'test_seconds_count{op="read"} 6');
  await has('tidegauge_board_info{nodename="board"} 1', 'test_seconds_sum{op="read"} 3');
  first.end();
  await has('test_done_total{kind="a"} 15', 'test_open 1', 'test_seconds_count{op="read"} 6');
  const third = start(3);
  Object.assign(third.counts, { done: 1, open: 1 });
  await has('test_done_total{kind="a"} 16', 'test_open 2');
  third.end();
  await has('test_done_total{kind="a"} 16', 'test_open 1', 'test_seconds_bucket{op="read",le="+Inf"} 6');
});
