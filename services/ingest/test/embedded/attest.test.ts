import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dayName } from '@tidegauge/copy';
import { runProgram } from '@tidegauge/process';
import { now } from '@tidegauge/readings';
import { dayOf } from '../../src/relay/day-digest.ts';
import { startIngestWithApi, TOKEN } from '../ingest-with-api.ts';
import { settled } from '../integration/helpers.ts';

const ATTEST = new URL('../../src/attest/main.ts', import.meta.url).pathname;
const VERIFIER = new URL('../../src/attest/verify_attestation.py', import.meta.url).pathname;

test('exports of the API are verified against a document that was made while ingest ran', async (context) => {
  const { api, ingest, directory, store } = await startIngestWithApi(context);
  const day = dayName(dayOf(now()) - 1);
  const numbered = [0, 1, 2, 5, 4].map((seq) => {
    const metric = seq % 2 === 0 ? 'temperature' : 'humidity';
    return { device: 'site-3/boiler', metric, t: `${day}T10:00:0${seq}Z`, v: 20.1 + seq, boot: 'b', seq };
  });
  const texts = ['"offen",\r\nzu', '\u2028ü🙂', ', '].map((v, index) => {
    return { device: 'tür', metric: 'lage', t: `${day}T11:00:0${index}Z`, v };
  });
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  for (const reading of [...numbered, ...texts]) {
    const sent = await fetch(`${api}/v1/readings`, {
      method: 'POST',
      headers,
      body: JSON.stringify(reading),
    });
    assert.equal(sent.status, 202, await sent.text());
  }
  await settled(ingest);

  const args = [ATTEST, '--store', store, '--data-dir', directory, '--to', day, '--json'];
  const { stdout } = await runProgram(process.execPath, args);
  const result = JSON.parse(stdout);
  const { readings, missing, unjudged, late } = result;
  assert.deepEqual({ readings, missing, unjudged, late }, { readings: 8, missing: 1, unjudged: 0, late: 1 });
  for (const format of ['ndjson', 'csv']) {
    const file = join(directory, `export.${format}`);
    const answer = await fetch(`${api}/v1/export?format=${format}`, { headers });
    writeFileSync(file, await answer.text());
    const verified = await runProgram('python3', [
      VERIFIER,
      '--key',
      result.key,
      result.document,
      '--export',
      file,
    ]);
    assert.match(verified.stdout, /2 days of devices and 8 readings of the export are equal\nverified/);
  }
});
