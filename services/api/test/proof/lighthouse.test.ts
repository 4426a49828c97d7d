import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findChromium, steadyNetwork } from '@tidegauge/lab/chromium';
import { installNpmProgram } from '@tidegauge/lab/npm-program';
import { startOrSkip, testWith } from '@tidegauge/lab/unavailable';
import { runProgram, temporaryDirectory } from '@tidegauge/process';
import { PROBE, startInstallation } from '../browser.ts';

// Lighthouse on the live page, with its defaults: a phone of 412 x 823. Performance is not measured: its score depends on
// what else this machine does.

const LEAST = 0.95;
const TIMEOUT_MS = 240_000;
/** The message when Chromium's trace misses the start of the page, about once in ten runs. Nothing is measured then. */
const NO_TRACE = 'Please run Lighthouse again';
const TRIES = 4;

const chromium = await startOrSkip('chromium', findChromium);
const lighthouse = await startOrSkip('lighthouse', () => installNpmProgram('lighthouse', '13.5.0'));
const test = await testWith('lighthouse', async () => {
  for (const found of [chromium, lighthouse]) if ('skip' in found) throw new Error(found.skip);
});
const pathOf = (found: typeof chromium): string => (found as { server: string }).server;

interface Report {
  readonly categories: Readonly<Record<string, { readonly score: number | null }>>;
  readonly audits: Readonly<Record<string, { readonly title: string; readonly score: number | null }>>;
}

async function auditOnce(url: string): Promise<Report> {
  const folder = temporaryDirectory('lighthouse');
  try {
    const output = join(folder.path, 'report.json');
    const flags = `--headless=new --no-sandbox --disable-gpu --user-data-dir=${folder.path}/profile`;
    const args = [join(pathOf(lighthouse), 'cli/index.js'), url, '--quiet', '--no-enable-error-reporting'];
    const categories = '--only-categories=accessibility,best-practices';
    await runProgram(
      process.execPath,
      [...args, categories, '--output=json', `--output-path=${output}`, `--chrome-flags=${flags}`],
      { env: { ...(await steadyNetwork()), CHROME_PATH: pathOf(chromium) }, timeoutMs: TIMEOUT_MS },
    );
    return JSON.parse(readFileSync(output, 'utf8'));
  } finally {
    folder.remove();
  }
}

async function audit(url: string): Promise<Report> {
  for (let count = 1; ; count += 1) {
    try {
      return await auditOnce(url);
    } catch (error) {
      if (count === TRIES || !String(error).includes(NO_TRACE)) throw error;
    }
  }
}

for (const [what, path] of [
  ['the live page', '/'],
  ['the charts of a sensor', `/#/sensor/${encodeURIComponent(PROBE)}`],
  ['the history', `/#/history?s=${PROBE}/temperature`],
  ['the pipeline', '/#/pipeline'],
  ['the reference', '/docs'],
  ['the page to try requests', '/docs/try'],
] as const) {
  test(`Lighthouse gives ${what} 95 or more for accessibility and best practices`, async (t) => {
    const api = await startInstallation(t);
    const { categories, audits } = await audit(`${api.url}${path}`);
    const failed = Object.entries(audits)
      .filter(([, { score }]) => score !== null && score < 1)
      .map(([id, { title, score }]) => `${id}: ${title} (${score})`);
    for (const category of ['accessibility', 'best-practices']) {
      const { score } = categories[category]!;
      assert.ok(score !== null && score >= LEAST, `${category}: ${score}\n${failed.join('\n')}`);
    }
  });
}
