import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { calibrate } from '@tidegauge/experiments/commands/calibrate';

const SMALL = {
  processor: { rounds: 3, secondsPerRound: 0.02, warmUpSeconds: 0.02 },
  disk: { syncSeconds: 0.02, bytes: 4 * 2 ** 20 },
};

test('a calibration measures processors and disk, and leaves no file', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-calibrate-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const found = await calibrate(folder, new AbortController().signal, SMALL);
  assert.equal(found.processors, availableParallelism());
  const { value, low, high } = found.loopsPerSecond;
  assert.ok(low < value && value < high && value > 100, `${value}`);
  assert.ok(found.fsyncSeconds > 0 && found.fsyncSeconds <= found.fsyncP99Seconds);
  assert.ok(found.writeBytesPerSecond > 1e5 && found.memoryBytes > 1e8);
  assert.deepEqual(readdirSync(folder), []);
});

test('a calibration that is interrupted ends, and leaves no file', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-calibrate-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const controller = new AbortController();
  const long = { ...SMALL, processor: { ...SMALL.processor, secondsPerRound: 600 } };
  const running = calibrate(folder, controller.signal, long);
  setTimeout(() => controller.abort(new Error('interrupted')), 100);
  await assert.rejects(running, { message: 'interrupted' });
  assert.deepEqual(readdirSync(folder), []);
});
