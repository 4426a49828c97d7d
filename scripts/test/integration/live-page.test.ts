import assert from 'node:assert/strict';
import { launchChromium } from '@tidegauge/lab/chromium';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import mqtt from 'mqtt';
import { startPipeline } from '../embedded/pipeline-process.ts';

const test = await testWith('chromium', () => findProgram('chromium', 'chromium'));
const WAIT_MS = 60_000;

test('the live page of the whole pipeline shows a sensor, and counts what is stored', async (context) => {
  const pipeline = await startPipeline(context);
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${pipeline.mqttPort}`);
  await client.publishAsync('sensors/kitchen/temperature', '21.5', { qos: 1 });
  await client.endAsync();

  const chromium = await launchChromium({ steadyNetwork: true });
  context.after(() => chromium.close());
  const page = await chromium.context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())));
  page.on('pageerror', (error) => void problems.push(String(error)));
  await page.goto(`${pipeline.api}/`);
  await page.getByText('kitchen').first().waitFor({ timeout: WAIT_MS });
  await page.getByText('Balanced').waitFor({ timeout: WAIT_MS });
  const stored = async () =>
    Number(/stored\s+([\d,]+)/.exec(await page.locator('body').innerText())?.[1]?.replaceAll(',', ''));
  const first = await stored();
  for (const deadline = Date.now() + WAIT_MS; !((await stored()) > first); await page.waitForTimeout(100)) {
    assert.ok(Date.now() < deadline, `the count of stored readings stays at ${first}`);
  }
  assert.deepEqual(problems, []);
});
