import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import { tallyRot } from '@tidegauge/test-support/rot';
import { backupSubject } from '../rot/subject.ts';

const folder = temporaryDirectory('backup-rot');
after(() => folder.remove());

test('a restore finds each change of a backup', async () => {
  const { found } = await tallyRot(await backupSubject(folder.path), 40, 1);
  assert.equal(found, 40);
});
