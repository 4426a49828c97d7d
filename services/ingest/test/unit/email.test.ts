import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { NoticeRefused } from '../../src/alerts/channel.ts';
import { mailServerOf } from '../../src/alerts/email.ts';
import { parseReceivers } from '../../src/alerts/receivers-file.ts';
import { noticeOf } from '../alert-notice.ts';

const PASSWORD = 'hunter2-of-the-test';
const NEVER = new AbortController().signal;

/** Answers of a mail server to the first four letters of a line; END is the end of a message. */
const ANSWERS: Readonly<Record<string, string>> = { DATA: '354 go on', QUIT: '221 bye' };

/** An SMTP server on a free port. It does not answer a line whose answer is empty. */
async function startServer(context: TestContext, answers: Readonly<Record<string, string>> = {}) {
  const lines: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let rest = '';
    let isData = false;
    const answer = (verb: string) => {
      const text = answers[verb] ?? ANSWERS[verb] ?? '250 fine';
      if (text !== '') socket.write(`${text}\r\n`);
    };
    socket.on('error', () => {});
    socket.on('data', (part) => {
      const parts = `${rest}${part}`.split('\r\n');
      rest = parts.pop()!;
      for (const line of parts) {
        lines.push(line);
        const verb = line === '.' ? 'END' : line.slice(0, 4).toUpperCase();
        if (isData && verb !== 'END') continue;
        isData = verb === 'DATA';
        answer(verb);
      }
    });
    socket.write('220 mail.test\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `smtp://127.0.0.1:${port}`, lines, sockets };
}

function receiverAt(server: string, more: object = {}) {
  const entry = {
    name: 'mail',
    kind: 'email',
    to: 'me@example.org',
    from: 'gauge@example.org',
    server,
    ...more,
  };
  const [receiver] = parseReceivers(JSON.stringify([entry]), 'receivers.yml');
  return receiver!;
}

test('a message about an alert is an e-mail with the same identifier in each attempt', async (context) => {
  const { url, lines } = await startServer(context);
  const receiver = receiverAt(url);
  assert.equal(receiver.target, 'me@example.org');
  await receiver.send(noticeOf({ device: 'site-3/boiler' }), NEVER);
  assert.ok(lines.includes('MAIL FROM:<gauge@example.org>'), lines.join('\n'));
  assert.ok(lines.includes('RCPT TO:<me@example.org>'));
  assert.ok(lines.includes('Subject: site-3/boiler: temperature 31.1235 is above 30'));
  assert.ok(lines.includes('Rule hot, critical, since 2026-11-21 14:05 UTC'));
  assert.ok(lines.includes('Auto-Submitted: auto-generated'));
  assert.ok(lines.includes(`Message-ID: <${'1'.padStart(24, '0')}.raised@example.org>`));
});

test('a receiver without a server uses the one of the settings', async (context) => {
  const { url, lines } = await startServer(context);
  const entry = { name: 'mail', kind: 'email', to: 'me@example.org', from: 'gauge@example.org' };
  const [receiver] = parseReceivers(JSON.stringify([entry]), 'receivers.yml', mailServerOf(url));
  await receiver!.send(noticeOf(), NEVER);
  assert.ok(lines.includes('RCPT TO:<me@example.org>'));
  assert.deepEqual(mailServerOf('smtps://me%40b.org:p%3A@[::1]'), {
    host: '::1',
    port: 465,
    isTls: true,
    login: { user: 'me@b.org', pass: 'p:' },
  });
});

test('an answer that stays an error is a refusal, another one is not', async (context) => {
  for (const [answers, isRefused] of [
    [{ RCPT: '550 no such user' }, true],
    [{ MAIL: '530 log in first' }, true],
    [{ RCPT: '451 later' }, false],
    [{ END: '452 full' }, false],
    [{ END: '554 spam' }, true],
  ] as const) {
    const { url } = await startServer(context, answers);
    await assert.rejects(receiverAt(url).send(noticeOf(), NEVER), (error: Error) => {
      assert.equal(error instanceof NoticeRefused, isRefused, error.message);
      assert.match(error.message, /^the mail server did not take the message: .*\d{3}/);
      return true;
    });
  }
  await assert.rejects(receiverAt('smtp://127.0.0.1:1').send(noticeOf(), NEVER), /ECONNREFUSED/);
});

test('a password is not sent without TLS', async (context) => {
  const login = { user: 'gauge', password: PASSWORD };
  const { url, lines } = await startServer(context, { STAR: '502 not offered' });
  const error = await receiverAt(url, login)
    .send(noticeOf(), NEVER)
    .then(
      () => null,
      (reason: Error) => reason,
    );
  assert.ok(error instanceof Error);
  assert.doesNotMatch(error.message, new RegExp(PASSWORD));
  assert.ok(!lines.some((line) => line.startsWith('AUTH') || line.startsWith('MAIL')), lines.join('\n'));
});

test('a server that hangs is left when the delivery ends', async (context) => {
  const { url, sockets } = await startServer(context, { EHLO: '' });
  const abort = new AbortController();
  const sending = receiverAt(url).send(noticeOf(), abort.signal);
  setTimeout(() => abort.abort(), 200);
  await assert.rejects(sending, /did not answer in time/);
  assert.equal(sockets.length, 1);
});
