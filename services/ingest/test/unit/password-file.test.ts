import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';
import { runHere } from '@tidegauge/test-support/run-here';
import { removePassword, setPassword, usersOf } from '../../src/direct/password-file.ts';
import { matchesPassword, parsePasswords } from '../../src/direct/passwords.ts';
import { program } from '../../src/direct/passwords-main.ts';

const PROGRAM = fileURLToPath(new URL('../../src/direct/passwords-main.ts', import.meta.url));

function newFile(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'tidegauge-passwords-'));
  context.after(() => rmSync(directory, { recursive: true }));
  return join(directory, 'passwords');
}

async function isPassword(file: string, user: string, password: string): Promise<boolean> {
  const hashed = parsePasswords(readFileSync(file, 'utf8'), file).get(user);
  return hashed !== undefined && (await matchesPassword(hashed, Buffer.from(password)));
}

test('users are added, changed and removed, and all other lines stay as they are', async (context) => {
  const file = newFile(context);
  assert.equal(await setPassword(file, 'site-1', 'one'), true);
  assert.equal(await setPassword(file, 'site 2é', 'pässword: two $7$'), true);
  writeFileSync(file, `# roof\n\n${readFileSync(file, 'utf8')}# end`);
  assert.equal(await setPassword(file, 'site-1', 'other'), false);
  assert.deepEqual(usersOf(file), ['site-1', 'site 2é']);
  assert.match(readFileSync(file, 'utf8'), /^# roof\n\nsite-1:[^\n]+\nsite 2é:[^\n]+\n# end\n$/);
  assert.equal(await isPassword(file, 'site-1', 'other'), true);
  assert.equal(await isPassword(file, 'site-1', 'one'), false);
  assert.equal(await isPassword(file, 'site 2é', 'pässword: two $7$'), true);
  removePassword(file, 'site-1');
  assert.match(readFileSync(file, 'utf8'), /^# roof\n\nsite 2é:[^\n]+\n# end\n$/);
});

test('of a user who is in the file twice, no line stays', async (context) => {
  const file = newFile(context);
  await setPassword(file, 'a', 'old');
  writeFileSync(file, readFileSync(file, 'utf8').repeat(2));
  await setPassword(file, 'a', 'new');
  assert.equal(readFileSync(file, 'utf8').split('\n').length, 2);
  writeFileSync(file, readFileSync(file, 'utf8').repeat(2));
  removePassword(file, 'a');
  assert.equal(readFileSync(file, 'utf8'), '');
});

test('only its owner can read a new file, and an existing one keeps its group and its link', async (context) => {
  const file = newFile(context);
  await setPassword(file, 'a', 'secret');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  chmodSync(file, 0o644);
  const link = `${file}-link`;
  symlinkSync(file, link);
  await setPassword(link, 'b', 'secret');
  assert.equal(statSync(file).mode & 0o777, 0o640);
  assert.deepEqual(usersOf(file), ['a', 'b']);
});

test('a change by root leaves the file to its owner', {
  skip: process.getuid?.() === 0 ? false : 'only root can give a file to another user',
}, async (context) => {
  const file = newFile(context);
  await setPassword(file, 'a', 'secret');
  chownSync(file, 1234, 1235);
  removePassword(file, 'a');
  const { uid, gid, mode } = statSync(file);
  assert.deepEqual([uid, gid, mode & 0o777], [1234, 1235, 0o600]);
});

test('a file with a mistake, a bad name and a second command change nothing', async (context) => {
  const file = newFile(context);
  assert.throws(() => usersOf(file), /does not exist: make it with tidegauge passwords add USER/);
  assert.throws(() => removePassword(file, 'a'), /has no user "a"/);
  await setPassword(file, 'a', 'secret');
  const before = readFileSync(file, 'utf8');
  assert.throws(() => removePassword(file, 'A'), /has no user "A": tidegauge passwords list/);
  const refused: readonly (readonly [user: string, password: string, RegExp])[] = [
    ['', 'x', /"" is empty/],
    ['a:b', 'x', /has a colon/],
    ['#a', 'x', /begins with #/],
    ['a\nb', 'x', /control characters/],
    ['é'.repeat(129), 'x', /longer than 256 bytes/],
    ['b', '', /the password is empty/],
    ['b', 'x'.repeat(65_536), /the password has 65536 bytes: MQTT has room for 65535/],
  ];
  for (const [user, password, problem] of refused)
    await assert.rejects(setPassword(file, user, password), problem);
  writeFileSync(`${file}.new`, '');
  await assert.rejects(
    setPassword(file, 'b', 'x'),
    /another command is changing .*: if none runs, remove .*\.new/,
  );
  rmSync(`${file}.new`);
  assert.equal(readFileSync(file, 'utf8'), before);

  writeFileSync(file, `${before}b:plain text\n`);
  await assert.rejects(setPassword(file, 'c', 'x'), /line 2: the password of "b" is not hashed/);
  assert.equal(readFileSync(file, 'utf8'), `${before}b:plain text\n`);
  // The draft of a refused change is removed.
  assert.throws(() => statSync(`${file}.new`), /ENOENT/);
});

test('the command reads a password from standard input, and from nowhere else', async (context) => {
  const file = newFile(context);
  /** Without `stdin`, it is not read. */
  const passwords = (args: readonly string[], stdin?: string) =>
    stdin === undefined
      ? runHere(program, ...args, '--listen-passwords', file)
      : runProgram(process.execPath, [PROGRAM, ...args], {
          accept: 'any',
          env: { LISTEN_PASSWORDS: file },
          input: stdin,
        });
  const added = await passwords(['add', 'site-3'], 'not for logs \n');
  assert.deepEqual([added.code, added.stdout], [0, '']);
  assert.doesNotMatch(added.stderr, /not for logs/);
  assert.equal(await isPassword(file, 'site-3', 'not for logs '), true);
  assert.match((await passwords(['add', 'a/b'], 'x')).stderr, /may publish only where LISTEN_ACL names it/);
  assert.equal((await passwords(['list'])).stdout, 'site-3\na/b\n');
  assert.equal((await passwords(['remove', 'a/b'])).code, 0);
  assert.equal((await passwords(['list'])).stdout, 'site-3\n');
  const refused: readonly (readonly [string[], string | undefined, RegExp])[] = [
    [['add', 'site-3', 'password'], undefined, /password/],
    [['add', 'site-3'], 'one\ntwo\n', /standard input has more than one line/],
    [['add', 'site-3'], '', /the password is empty/],
    [['add'], undefined, /USER/],
    [['remove', 'site-4'], undefined, /has no user "site-4"/],
  ];
  for (const [args, stdin, problem] of refused) {
    const { code, stderr } = await passwords(args, stdin);
    assert.equal(code, 2, stderr);
    assert.match(stderr, problem);
  }
  assert.equal(await isPassword(file, 'site-3', 'not for logs '), true);
});

test('on a terminal the password is entered twice and not shown', async (context) => {
  const file = newFile(context);
  const enter = async (...lines: readonly string[]) => {
    const command = `${process.execPath} ${PROGRAM} add site-3 --listen-passwords ${file}`;
    const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null']);
    let shown = '';
    const left = [...lines];
    terminal.stdout.on('data', (data: Buffer) => {
      shown += data;
      if (/(site-3|again): $/.test(shown) && left.length > 0) terminal.stdin.write(`${left.shift()}\r`);
    });
    const code = await new Promise((resolve) => terminal.on('close', resolve));
    for (const line of lines) assert.ok(!shown.includes(line), shown);
    return { code, shown };
  };
  assert.match((await enter('first one', 'another')).shown, /the two are not equal/);
  assert.throws(() => statSync(file), /ENOENT/);
  const { code, shown } = await enter('correct horse', 'correct horse');
  assert.equal(code, 0, shown);
  assert.equal(await isPassword(file, 'site-3', 'correct horse'), true);
});
