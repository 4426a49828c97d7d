import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEcho, startToxiproxy } from '@tidegauge/lab/toxiproxy';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { freePort } from '@tidegauge/process';

const started = await startOrSkip('toxiproxy', () => startToxiproxy());
const QUIET_MS = 300;

test('a link refuses connections, drops data without notice, and works again', {
  skip: 'skip' in started ? started.skip : false,
}, async (context) => {
  if ('skip' in started) return;
  const { server: toxiproxy } = started;
  const echo = await startEcho();
  context.after(async () => {
    await toxiproxy.stop();
    await echo.stop();
  });
  const port = await freePort();
  const link = `127.0.0.1:${port}`;
  await toxiproxy.addLink(link, echo.address, { delayMs: 0, jitterMs: 0, kilobitsPerSecond: null });
  const open = async () => {
    const socket = connect({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    return socket;
  };
  const echoes = async (): Promise<void> => {
    const socket = await open();
    socket.write('x');
    assert.equal(String((await once(socket, 'data'))[0]), 'x');
    socket.destroy();
  };
  await echoes();

  await toxiproxy.changeLink(link, 'refuse');
  await assert.rejects(open(), { code: 'ECONNREFUSED' });

  await toxiproxy.changeLink(link, 'drop');
  const dropped = await open();
  let events = 0;
  for (const event of ['data', 'error', 'close']) dropped.on(event, () => events++);
  dropped.write('x');
  await sleep(QUIET_MS);
  assert.equal(events, 0, 'the connection is open, and nothing arrives');

  await toxiproxy.changeLink(link, null);
  if (events === 0) await once(dropped, 'close');
  await echoes();

  await toxiproxy.changeLink(link, { delayMs: 100, jitterMs: 0, kilobitsPerSecond: null });
  const begun = performance.now();
  await echoes();
  assert.ok(performance.now() - begun >= 90);
});
