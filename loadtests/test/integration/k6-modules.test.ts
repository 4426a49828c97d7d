import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startMosquitto } from '@tidegauge/lab';
import { go, goTool } from '@tidegauge/lab/go';
import { buildK6 } from '@tidegauge/lab/k6';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const MODULE = fileURLToPath(new URL('../../k6-modules/', import.meta.url));
const credentials = { username: 'k6', password: 'only-a-test' };

const started = await startOrSkip('k6', async () => {
  // The build of k6 downloads the Go modules that the tests need.
  await buildK6();
  await go(['vet', './...'], { cwd: MODULE });
  return startMosquitto({ credentials, tls: true });
});

if ('skip' in started) test('the modules of k6', { skip: started.skip });
else {
  const broker = started.server;

  test('the modules of k6 pass their tests, those of MQTT on a real mosquitto', async (context) => {
    context.after(() => broker.stop());
    const env = {
      MQTT_URL: broker.url,
      MQTT_TLS_URL: broker.tls!.url,
      MQTT_CA: broker.tls!.ca,
      MQTT_USERNAME: credentials.username,
      MQTT_PASSWORD: credentials.password,
    };
    const output = await go(['test', '-count=1', '-v', './...'], { cwd: MODULE, env });
    assert.doesNotMatch(output, /--- SKIP/);
    for (const name of ['mqtt', 'records', 'workload']) {
      assert.match(output, new RegExp(`^ok\\s+tidegauge/k6-modules/${name}\\s`, 'm'));
    }
  });

  test('the modules of k6 are formatted', () => {
    const { code, stdout, stderr } = runProgramSync(goTool('gofmt'), ['-l', MODULE], { accept: 'any' });
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' });
  });
}
