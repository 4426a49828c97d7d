import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { argon2Sync, createHash } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ConnectRequest, Peer, User } from '@tidegauge/mqtt-session/server';
import { temporaryDirectory } from '@tidegauge/process';
import { createLogger } from '@tidegauge/service';
import fc from 'fast-check';
import { filterMatcher, parseAcl, writableTopics } from '../../src/direct/acl.ts';
import { Logins } from '../../src/direct/logins.ts';
import { matchesPassword, parsePasswords, passwordLine } from '../../src/direct/passwords.ts';

const LOGGER = createLogger('test', 'silent');
const NONE = {
  listenPasswords: null,
  listenAcl: null,
  listenUser: null,
  listenPassword: null,
  listenAnonymous: false,
  listenCa: null,
};
const PEER: Peer = { address: '192.0.2.1', isTls: false, certificateName: null, isLoopback: false };

function request(username: string | null, password: string | null): ConnectRequest {
  return {
    version: 5,
    clientId: 'c',
    cleanStart: true,
    keepAliveSeconds: 0,
    sessionExpirySeconds: 0,
    username,
    password: password === null ? null : Buffer.from(password),
    will: null,
    takesReasonStrings: false,
  };
}

function open(context: TestContext, settings: Partial<typeof NONE> | object) {
  // The clock stands still, so that the time of a hash does not matter.
  const logins = new Logins({ ...NONE, ...settings }, LOGGER, () => 0);
  context.after(() => logins.close());
  return async (username: string | null, password: string | null, peer: Partial<Peer> = {}) => {
    return logins.authenticate(request(username, password), { ...PEER, ...peer });
  };
}

/** Written by mosquitto_passwd of Debian 12, for the password "tide gauge". */
const OF_MOSQUITTO =
  'site-3:$7$101$uNCETu73px/edKV9$qwR4I4nLMKJJyNM5CbqMGBJIvyS6NS4oa5uYl/yMSxbdwU+eLHMmyVwegypXAUlGE1NokIwLG1di5Mh4E5BxbA==';

test('a password file has the hashes of mosquitto, and no others', async () => {
  const salt = Buffer.from('somesalt1234');
  const sha512 = createHash('sha512').update('tide gauge').update(salt).digest('base64');
  const cost = { memory: 64, passes: 2, parallelism: 1, tagLength: 32 };
  const argon2 = argon2Sync('argon2id', { message: 'tide gauge', nonce: salt, ...cost }).toString('base64');
  const own = await passwordLine('site-3', 'tide gauge');
  for (const line of [
    OF_MOSQUITTO,
    own,
    `site-3:$6$${salt.toString('base64')}$${sha512}`,
    `site-3:$argon2id$v=19$m=64,t=2,p=1$${salt.toString('base64')}$${argon2}`,
  ]) {
    const users = parsePasswords(`# sensors\n\n${line}\r\n`, 'passwords');
    assert.equal(await matchesPassword(users.get('site-3')!, Buffer.from('tide gauge')), true, line);
    assert.equal(await matchesPassword(users.get('site-3')!, Buffer.from('tide gauges')), false, line);
  }
  for (const text of [
    'site-3:plain text',
    'site-3',
    ':x',
    'a:$7$0$YWJj$YWJj',
    'a:$7$101$YWJj$YWJj',
    'a:$1$x$y',
  ]) {
    assert.throws(
      () => parsePasswords(text, 'passwords'),
      (error: Error) => {
        assert.match(error.message, /passwords, line 1/);
        assert.doesNotMatch(error.message, /plain text/);
        return true;
      },
    );
  }
});

test('the access list has the format and the meaning of mosquitto', () => {
  const acl = parseAcl(
    `# comment
topic write anyone/#
pattern write sensors/%u/#
pattern write by-id/%c/+
user site-1
topic write extra/+/x
topic read secret/#
topic both/#
topic deny sensors/site-1/private/#
`.replace('topic both/#', 'topic readwrite both/#'),
    'acl',
  );
  const site1 = writableTopics(acl, 'site-1', 'c7');
  for (const topic of ['sensors/site-1/a/t', 'sensors/site-1', 'extra/q/x', 'both/x', 'by-id/c7/t'])
    assert.ok(site1(topic), topic);
  for (const topic of [
    'sensors/site-2/a',
    'sensors/site-10/a',
    'anyone/x',
    'secret/x',
    'extra/q/y',
    'sensors/site-1/private/x',
    '$SYS/x',
    'by-id/c7/t/u',
  ])
    assert.ok(!site1(topic), topic);
  const anonymous = writableTopics(acl, null, '+');
  assert.ok(anonymous('anyone/x'));
  for (const topic of ['sensors//a', 'sensors/null/a', 'by-id/+/t', 'both/x'])
    assert.ok(!anonymous(topic), topic);
  for (const name of ['#', '+', 'a/b', 'site-1/#'])
    assert.ok(!writableTopics(acl, name, 'c')(`sensors/${name}/t`), name);
  for (const text of [
    'topic',
    'topic write',
    'topic a/#/b',
    'topic a+',
    'users x',
    'pattern write sensors/%u/#b',
  ])
    assert.throws(() => parseAcl(text, 'acl'), /acl, line 1/, text);
});

test('a filter matches as the levels of the standard do', () => {
  const level = fc.constantFrom('a', 'b', '', '$x');
  const plain = (filter: string[], topic: string[]): boolean => {
    const [first, ...rest] = filter;
    if (first === '#') return true;
    if (first === undefined) return topic.length === 0;
    if (topic.length === 0) return false;
    return (
      (first === '+' || first === topic[0]) &&
      (plain(rest, topic.slice(1)) || (rest[0] === '#' && topic.length === 1))
    );
  };
  const filters = fc.tuple(
    fc.array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  );
  fc.assert(
    fc.property(filters, fc.array(level, { minLength: 1, maxLength: 4 }), ([levels, isOpen], topic) => {
      const filter = isOpen ? [...levels, '#'] : levels;
      const isHidden = topic[0]!.startsWith('$') && filter[0] === '+';
      const expected = !isHidden && plain(filter, topic);
      assert.equal(
        filterMatcher(filter.join('/'))(topic.join('/')),
        expected,
        `${filter.join('/')} ${topic.join('/')}`,
      );
    }),
  );
});

test('a login is needed unless the listener is on loopback and has none', async (context) => {
  const open1 = open(context, {});
  assert.equal(await open1(null, null), 'not_authorized');
  assert.equal(typeof (await open1(null, null, { isLoopback: true })), 'object');
  const anonymous = open(context, { listenAnonymous: true });
  assert.equal(typeof (await anonymous(null, null)), 'object');
  const single = open(context, { listenUser: 'board', listenPassword: 'secret' });
  assert.equal(await single(null, null, { isLoopback: true }), 'not_authorized');
  assert.equal(await single('board', 'wrong'), 'credentials');
  assert.equal(await single('other', 'secret'), 'credentials');
  const board = await single('board', 'secret');
  assert.ok(typeof board === 'object' && board.name === 'board' && board.mayPublish('any/topic'));
});

test('a sensor logs in with its password or its certificate, and publishes below its name', async (context) => {
  const directory = temporaryDirectory('logins');
  context.after(() => directory.remove());
  const file = join(directory.path, 'passwords');
  writeFileSync(file, `${await passwordLine('site-3', 'right')}\n`);
  const login = open(context, { listenPasswords: file, listenCa: 'ca.pem' });
  for (const password of ['right', 'right']) {
    const user = await login('site-3', password);
    assert.ok(typeof user === 'object' && user.name === 'site-3');
    assert.ok(user.mayPublish('sensors/site-3/boiler/t'));
    assert.ok(!user.mayPublish('sensors/site-4/boiler/t'));
  }
  const machine = await login(null, null, { certificateName: 'site-9' });
  assert.ok(typeof machine === 'object' && machine.mayPublish('sensors/site-9/t'));
  assert.equal(await login(null, null, { certificateName: 'site\n9' }), 'not_authorized');
  assert.equal(await login('nobody', 'right'), 'credentials');
  // Ten wrong passwords in a row; then even the right one of an unknown address is not checked.
  const guesser = { address: '198.51.100.7' };
  for (let i = 0; i < 10; i++) assert.equal(await login('site-3', 'wrong', guesser), 'credentials');
  assert.equal(await login('site-3', 'right', guesser), 'busy');
  assert.equal(typeof (await login('site-3', 'right')), 'object');
});

test('a changed password file is used within about a second, and a broken one keeps the old users', async (context) => {
  const directory = temporaryDirectory('logins');
  context.after(() => directory.remove());
  const file = join(directory.path, 'passwords');
  writeFileSync(file, await passwordLine('a', 'one'));
  const login = open(context, { listenPasswords: file });
  assert.equal(typeof (await login('a', 'one')), 'object');
  writeFileSync(file, 'a:not hashed');
  await new Promise((resolve) => setTimeout(resolve, 1300));
  assert.equal(typeof (await login('a', 'one')), 'object');
  writeFileSync(file, await passwordLine('a', 'two'));
  await new Promise((resolve) => setTimeout(resolve, 1300));
  assert.equal(await login('a', 'one'), 'credentials');
  assert.equal(typeof (await login('a', 'two')), 'object');
});

test('wrong passwords of one sensor do not lock out others of its address, and have an end for every user', async (context) => {
  const login = open(context, { listenPasswords: passwordsOf(context, 'site-1', 'site-2', 'site-3') });
  const outcome = async (user: string, password: string, address?: string) => {
    const found = await login(user, password, address === undefined ? {} : { address });
    return typeof found === 'string' ? found : 'accepted';
  };
  assert.equal(await outcome('site-1', 'tide gauge'), 'accepted');
  // A sensor with an old password, behind the same router. All its logins arrive at once.
  const tries = await Promise.all(Array.from({ length: 50 }, () => outcome('site-2', 'wrong')));
  const checked = tries.filter((each) => each === 'credentials').length;
  // Two are checked at the same time.
  assert.ok(checked === 10 || checked === 11, `${checked}`);
  assert.equal(tries.filter((each) => each === 'busy').length, 50 - checked);
  assert.equal(await outcome('site-1', 'tide gauge'), 'accepted');
  assert.equal(await outcome('site-3', 'tide gauge'), 'accepted');
  assert.equal(await outcome('site-2', 'tide gauge', '192.0.2.2'), 'accepted');
  // An address from which users have logged in guesses no faster than others.
  for (let number = 0; number < 10; number++) assert.equal(await outcome('site-3', 'x'), 'credentials');
  assert.equal(await outcome('site-3', 'x'), 'busy');
  assert.equal(await outcome('site-1', 'tide gauge'), 'accepted');
});

test('one machine does not get more attempts with more user names or more addresses', async (context) => {
  const login = open(context, { listenPasswords: passwordsOf(context, 'site-1') });
  let wrong = 0;
  for (let number = 0; number < 150; number++) {
    const address = `2001:db8::${number.toString(16)}`;
    if ((await login(`user-${number}`, 'wrong', { address })) === 'credentials') wrong += 1;
  }
  assert.equal(wrong, 100);
  assert.equal(await login('site-1', 'tide gauge', { address: '2001:db8::ffff' }), 'busy');
  assert.notEqual(typeof (await login('site-1', 'tide gauge', { address: '2001:db8:0:1::1' })), 'string');
});

test('a login ends when its user leaves the file or gets another password, and not with other changes', async (context) => {
  const file = passwordsOf(context, 'site-1', 'site-2', 'site-3');
  const login = open(context, { listenPasswords: file });
  const [first, second, third] = await Promise.all(
    ['site-1', 'site-2', 'site-3'].map(async (name) => (await login(name, 'tide gauge')) as User),
  );
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, 2);
  lines[1] = await passwordLine('site-2', 'another');
  writeFileSync(file, `${lines.join('\n')}\n${await passwordLine('site-4', 'new')}\n`);
  await new Promise((resolve) => setTimeout(resolve, 1300));
  assert.deepEqual(
    [first, second, third].map((user) => user!.isCurrent!()),
    [true, false, false],
  );
});

test('files of logins that others can change, and what is not a file, are refused', async (context) => {
  const passwords = passwordsOf(context, 'site-1');
  const acl = `${passwords}.acl`;
  writeFileSync(acl, 'topic write public/#\n');
  chmodSync(acl, 0o660);
  const settings = { listenPasswords: passwords, listenAcl: acl };
  assert.throws(
    () => open(context, settings),
    /LISTEN_ACL names .* can be changed by other users .*chmod go-w/,
  );
  chmodSync(acl, 0o644);
  chmodSync(passwords, 0o606);
  assert.throws(() => open(context, settings), /LISTEN_PASSWORDS names .* can be changed by other users/);
  chmodSync(passwords, 0o600);
  const login = open(context, settings);
  // A change by others is not used.
  writeFileSync(passwords, '');
  chmodSync(passwords, 0o666);
  await new Promise((resolve) => setTimeout(resolve, 1300));
  assert.equal(typeof (await login('site-1', 'tide gauge')), 'object');
  const pipe = `${passwords}.pipe`;
  execFileSync('mkfifo', [pipe]);
  assert.throws(() => open(context, { listenPasswords: pipe }), /is not a file/);
});

/** A password file with these users, all with the password "tide gauge". */
function passwordsOf(context: TestContext, ...users: readonly string[]): string {
  const directory = temporaryDirectory('logins');
  context.after(() => directory.remove());
  const file = join(directory.path, 'passwords');
  const hash = OF_MOSQUITTO.slice(OF_MOSQUITTO.indexOf(':'));
  writeFileSync(file, users.map((user) => `${user}${hash}\n`).join(''));
  return file;
}
