import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { findProgram } from '../../src/debian.ts';
import { causeOf, runInstaller } from '../../src/installer.ts';

/** Sets TIDEGAUGE_INSTALL until the test ends. */
function setInstall(context: TestContext, value: 'yes' | 'no'): void {
  const before = process.env.TIDEGAUGE_INSTALL;
  process.env.TIDEGAUGE_INSTALL = value;
  context.after(() => {
    if (before === undefined) delete process.env.TIDEGAUGE_INSTALL;
    else process.env.TIDEGAUGE_INSTALL = before;
  });
}

const DPKG = `E: Can not write log (Is /dev/pts mounted?) - posix_openpt (19: No such device)
Creating group 'ssl-cert' with GID 996.
make-ssl-cert: again.
mktemp: failed to create file via template '/tmp/lab/tmp.XXXXXXXXXX': No such file or directory
dpkg: error processing package ssl-cert (--configure):
 old ssl-cert package postinst maintainer script subprocess failed with exit status 1
dpkg: dependency problems prevent configuration of postgresql-common:
 postgresql-common depends on ssl-cert (>= 1.0.11); however:
  Package ssl-cert is not configured yet.

dpkg: error processing package postgresql-common (--configure):
 dependency problems - leaving unconfigured
Errors were encountered while processing:
 ssl-cert
E: Sub-process /usr/bin/dpkg returned an error code (1)
`;

test('finds the package and the line that made dpkg fail, among many lines', () => {
  assert.equal(
    causeOf(DPKG),
    "package ssl-cert: mktemp: failed to create file via template '/tmp/lab/tmp.XXXXXXXXXX': No such file or directory",
  );
});

test('finds the first error in the output of other installers, or the last line if there is no error', () => {
  assert.equal(
    causeOf('Reading lists\nE: Unable to locate package x\nbye\n'),
    'E: Unable to locate package x',
  );
  assert.equal(
    causeOf('[INFO] a\n[ERROR] Could not resolve x\n[ERROR] again\n'),
    '[ERROR] Could not resolve x',
  );
  assert.equal(causeOf('go: downloading a\nno room left\n'), 'no room left');
  assert.equal(causeOf('\n \n'), null);
  assert.ok(causeOf(`E: ${'x'.repeat(10_000)}`)!.length <= 400);
});

test('an error is one short line with the cause and the file of the whole output', async (context) => {
  setInstall(context, 'yes');
  const script =
    'for i in $(seq 500); do echo "noise $i"; done; echo "E: no such thing" >&2; echo more; exit 3';
  await assert.rejects(runInstaller('try a thing', 'sh', ['-c', script]), ({ message }: Error) => {
    assert.match(message, /^try a thing failed: E: no such thing \(whole output: .*try-a-thing\.log\)$/);
    return true;
  });
  await assert.rejects(
    runInstaller('try nothing', 'sh', ['-c', 'exit 4']),
    /try nothing failed: exit code 4/,
  );
  await assert.rejects(
    runInstaller('try none', 'tidegauge-no-such-program', []),
    /^Error: try none failed: tidegauge-no-such-program is not installed/,
  );
});

test('a process that may not install reports the command that installs the program', async (context) => {
  setInstall(context, 'no');
  const command = /npm test -- servers --install/;
  await assert.rejects(findProgram('tidegauge-no-such-program', 'no-such-package'), command);
  await assert.rejects(
    runInstaller('download nothing', 'true', []),
    /^Error: nothing is not installed; .*--install/,
  );
  assert.ok((await findProgram('sh', 'dash')).endsWith('/sh'));
});
