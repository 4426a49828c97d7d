import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { argon2Sync, createHash } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectRequest, LoginProblem, Peer, User } from '@tidegauge/mqtt-session/server';
import { temporaryDirectory } from '@tidegauge/process';
import { createLogger } from '@tidegauge/service';
import fc from 'fast-check';
import { filterMatcher, OWN_TOPICS, parseAcl, readableTopics, writableTopics } from '../../src/direct/acl.ts';
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

function request(
  username: string | null,
  password: string | Buffer | null,
  clientId: string,
): ConnectRequest {
  return {
    version: 5,
    clientId,
    cleanStart: true,
    keepAliveSeconds: 0,
    sessionExpirySeconds: 0,
    username,
    password: password === null ? null : Buffer.from(password),
    will: null,
    maximumPacketSize: Number.POSITIVE_INFINITY,
    takesReasonStrings: false,
  };
}

function open(context: TestContext, settings: Partial<typeof NONE> | object, clock = { ms: 0 }) {
  // The clock stands still, so that the time of a hash does not matter.
  const logins = new Logins({ ...NONE, ...settings }, LOGGER, () => clock.ms);
  context.after(() => logins.close());
  return async (
    username: string | null,
    password: string | Buffer | null,
    peer: Partial<Peer> = {},
    { clientId = 'c', signal = new AbortController().signal } = {},
  ) => logins.authenticate(request(username, password, clientId), { ...PEER, ...peer }, signal);
}

/** Several logins at once. The result has the outcomes of those that are decided. */
function tryAll(logins: readonly Promise<User | LoginProblem>[]): string[] {
  const outcomes: string[] = [];
  for (const login of logins)
    void login.then((found) => outcomes.push(typeof found === 'string' ? found : 'accepted'));
  return outcomes;
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

test('a sensor receives the requests for its own readings, and nothing else', () => {
  const own = readableTopics(OWN_TOPICS, 'site-3', 'c');
  for (const topic of ['tidegauge/resend/site-3', 'tidegauge/resend/site-3/boiler'])
    assert.ok(own(topic), topic);
  for (const topic of [
    'tidegauge/resend',
    'tidegauge/resend/site-30',
    'tidegauge/resend/site-4/a',
    'sensors/site-3/a',
    'tidegauge/alerts/site-3',
  ])
    assert.ok(!own(topic), topic);
  for (const name of ['#', '+', 'a/b'])
    assert.ok(!readableTopics(OWN_TOPICS, name, 'c')('tidegauge/resend/a'), name);
  const acl = parseAcl(
    `pattern read tidegauge/resend/%u/#
topic read sensors/#
user site-3
topic deny tidegauge/resend/site-3/private/#
user admin
topic readwrite #
user writer
topic write #`,
    'acl',
  );
  const may = (user: string, topic: string) => readableTopics(acl, user, 'c')(topic);
  assert.ok(may('site-3', 'tidegauge/resend/site-3/a') && may('admin', 'tidegauge/resend/site-4'));
  assert.ok(!may('site-3', 'tidegauge/resend/site-3/private/a') && !may('writer', 'tidegauge/resend/site-3'));
  assert.ok(!may('admin', 'sensors/site-3') && !readableTopics(acl, null, 'c')('sensors/a'));
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
});

test('only the bytes of a password are accepted, not others with the same hash', async (context) => {
  const directory = temporaryDirectory('logins');
  context.after(() => directory.remove());
  const file = join(directory.path, 'passwords');
  const long = 'ä'.repeat(100);
  writeFileSync(file, `${await passwordLine('short', 'right')}\n${await passwordLine('long', long)}\n`);
  const login = open(context, { listenPasswords: file });
  const pairs = [
    ['short', Buffer.from('right\0')],
    ['short', Buffer.from('right\0\0')],
    ['short', Buffer.from('\0right')],
    ['short', Buffer.from('righ')],
    ['short', Buffer.alloc(0)],
    // HMAC replaces a key above 128 bytes by its hash.
    ['long', createHash('sha512').update(long).digest()],
    ['long', Buffer.from(`${long}\0`)],
  ] as const;
  for (const when of ['at first', 'after the right one'])
    for (const [user, password] of pairs)
      assert.equal(
        await login(user, password, { address: when }),
        'credentials',
        `${user} ${password} ${when}`,
      );
  for (const [user, password] of [
    ['short', 'right'],
    ['long', long],
  ] as const)
    assert.equal(typeof (await login(user, password)), 'object', user);
});

test('a changed password file is used within about a second, and a broken one keeps the old users', async (context) => {
  const directory = temporaryDirectory('logins');
  context.after(() => directory.remove());
  const file = join(directory.path, 'passwords');
  writeFileSync(file, await passwordLine('a', 'one'));
  const login = open(context, { listenPasswords: file });
  assert.equal(typeof (await login('a', 'one')), 'object');
  writeFileSync(file, 'a:not hashed');
  await sleep(1300);
  assert.equal(typeof (await login('a', 'one')), 'object');
  writeFileSync(file, await passwordLine('a', 'two'));
  await sleep(1300);
  assert.equal(await login('a', 'one'), 'credentials');
  assert.equal(typeof (await login('a', 'two')), 'object');
});

test('ten wrong passwords are checked at once, then one each tenth of a second, and the right one is never refused', async (context) => {
  const file = passwordsOf(context, 'site-1', 'site-2', 'site-3');
  for (const hasLoggedIn of [true, false]) {
    const clock = { ms: 0 };
    const login = open(context, { listenPasswords: file }, clock);
    if (hasLoggedIn) assert.equal(typeof (await login('site-2', 'tide gauge')), 'object');
    // Somebody behind the same router has the name of the sensor.
    const wrong = Array.from({ length: 50 }, (_, number) =>
      login('site-2', `wrong ${number}`, {}, { clientId: `x${number}` }),
    );
    const outcomes = tryAll(wrong);
    // One is checked after the ten, and two at the same time.
    while (outcomes.length < 11) await sleep(1);
    // Others of the address, and the sensor with its client id or at another address, do not wait.
    for (const [user, address] of [['site-1'], ['site-3'], ['site-2', '192.0.2.2']] as const)
      assert.equal(typeof (await login(user, 'tide gauge', address && { address })), 'object');
    if (hasLoggedIn) assert.equal(typeof (await login('site-2', 'tide gauge')), 'object');
    const checked = () => outcomes.filter((each) => each === 'credentials').length;
    assert.ok(checked() <= 12, `${checked()}`);
    // With another client id it has its turn with the next check.
    const right = login('site-2', 'tide gauge', {}, { clientId: 'new' });
    clock.ms += 100;
    assert.equal(typeof (await right), 'object');
    assert.ok(checked() <= 12, `${checked()}`);
  }
});

test('a wrong password that comes again is refused without a hash, and is no guess', async (context) => {
  const file = passwordsOf(context, 'site-1', 'site-2');
  const login = open(context, { listenPasswords: file });
  for (let number = 0; number < 50; number++) {
    assert.equal(await login('site-1', 'wrong'), 'credentials');
    assert.equal(await login('nobody', 'wrong'), 'credentials');
  }
  for (let number = 0; number < 8; number++)
    assert.equal(await login('site-1', `wrong ${number}`), 'credentials');
  assert.equal(typeof (await login('site-1', 'tide gauge')), 'object');
  // It is the right one of another user, or after a change of the file.
  writeFileSync(file, `${await passwordLine('site-1', 'wrong')}\n`);
  await sleep(1300);
  assert.equal(typeof (await login('site-1', 'wrong')), 'object');
});

test('a password that was not checked for want of room is checked first when it comes again', async (context) => {
  const clock = { ms: 0 };
  const login = open(context, { listenPasswords: passwordsOf(context, 'site-1') }, clock);
  const attack = (count: number) =>
    tryAll(Array.from({ length: count }, () => login('site-1', `wrong ${Math.random()}`)));
  const first = attack(100);
  while (first.length < 11) await sleep(1);
  const right = tryAll([login('site-1', 'tide gauge')]);
  // Newer ones push it out.
  attack(100);
  while (right.length === 0) await sleep(1);
  assert.deepEqual(right, ['busy']);
  const again = login('site-1', 'tide gauge');
  attack(100);
  clock.ms += 100;
  assert.equal(typeof (await again), 'object');
});

test('names of users that do not exist share the attempts and turns of their address', async (context) => {
  const login = open(context, { listenPasswords: passwordsOf(context, 'site-1') });
  // One machine has many addresses of IPv6.
  const outcomes = tryAll(
    Array.from({ length: 150 }, (_, number) =>
      login(`user-${number}`, 'wrong', { address: `2001:db8::${number.toString(16)}` }),
    ),
  );
  while (outcomes.length < 11) await sleep(1);
  assert.equal(typeof (await login('site-1', 'tide gauge', { address: '2001:db8::ffff' })), 'object');
  assert.ok(outcomes.length <= 12, `${outcomes.length}`);
});

test('an address has turns in proportion to the right passwords that came from it', async (context) => {
  const users = Array.from({ length: 9 }, (_, number) => `site-${number}`);
  const login = open(context, { listenPasswords: passwordsOf(context, ...users) });
  const wrong = (names: readonly string[], address: string) =>
    names.map((name) => login(name, `wrong ${address}`, { address }));
  for (const name of ['site-0', 'site-1']) assert.equal(typeof (await login(name, 'tide gauge')), 'object');
  const attackers = Array.from({ length: 9 }, (_, number) => `198.51.100.${number}`);
  const outcomes = tryAll(attackers.flatMap((address) => wrong(users.slice(0, 6), address)));
  // Six others behind its router guess as well.
  const neighbours = tryAll(wrong(users.slice(2, 8), PEER.address));
  assert.equal(typeof (await login('site-8', 'tide gauge')), 'object');
  assert.ok(neighbours.length >= 5, `${neighbours.length}`);
  assert.ok(outcomes.length <= 30, `${outcomes.length} of ${9 * 6}`);
});

test('a login whose connection has ended is not checked', async (context) => {
  const login = open(context, { listenPasswords: passwordsOf(context, 'site-1') });
  const gone = new AbortController();
  const { signal } = gone;
  const outcomes = tryAll(
    Array.from({ length: 100 }, (_, number) => login('site-1', `wrong ${number}`, {}, { signal })),
  );
  gone.abort();
  while (outcomes.length < 100) await sleep(1);
  assert.equal(outcomes.filter((each) => each === 'busy').length, 98);
});

test('the password of a setting is compared without a hash, and cannot be tried at any rate', async (context) => {
  const clock = { ms: 0 };
  const login = open(context, { listenUser: 'board', listenPassword: 'secret' }, clock);
  const outcomes = tryAll(Array.from({ length: 50 }, (_, number) => login('board', `wrong ${number}`)));
  while (outcomes.length < 11) await sleep(1);
  assert.equal(outcomes.length, 11);
  const right = login('board', 'secret');
  clock.ms += 100;
  assert.equal(typeof (await right), 'object');
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
  await sleep(1300);
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
  await sleep(1300);
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
