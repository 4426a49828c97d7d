import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ConfigError } from '@tidegauge/service';
import type { Alert } from '../../src/alerts/book.ts';
import { NoticeRefused } from '../../src/alerts/channel.ts';
import { parseReceivers } from '../../src/alerts/receivers-file.ts';
import { noticeOf } from '../alert-notice.ts';

const SECRET = 'tk_secret-of-a-receiver';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

/** A real HTTP server that answers with `status`. */
async function startServer(context: TestContext, status = 200) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { method = '', url = '', headers } = request;
    received.push({ method, url, authorization: headers.authorization, body: JSON.parse(text) });
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

const TITLE = 'küche/<a>: temperature 31.1235 is above 30';
const TEXT = 'Rule hot, critical, since 2026-11-21 14:05 UTC';
const LINES = `${TITLE}\n${TEXT}`;

async function sent(context: TestContext, entry: (origin: string) => object, sentNotice = noticeOf()) {
  const { origin, received } = await startServer(context);
  const [receiver] = parseReceivers(JSON.stringify([{ name: 'phone', ...entry(origin) }]), 'receivers.yml');
  await receiver!.send(sentNotice, new AbortController().signal);
  assert.equal(received.length, 1);
  return received[0]!;
}

test('ntfy, Telegram, Matrix and Slack receive a message as they document it', async (context) => {
  assert.deepEqual(
    await sent(context, (url) => ({ kind: 'ntfy', url: `${url}/t%C3%B6pic`, token: SECRET })),
    {
      method: 'POST',
      url: '/',
      authorization: `Bearer ${SECRET}`,
      body: { topic: 'töpic', title: TITLE, message: TEXT, priority: 5, tags: ['warning'] },
    },
  );
  assert.deepEqual(
    await sent(context, (url) => ({ kind: 'telegram', url, token: '12:ab-_C', chat: '-100' })),
    {
      method: 'POST',
      url: '/bot12:ab-_C/sendMessage',
      authorization: undefined,
      body: { chat_id: '-100', text: LINES },
    },
  );
  assert.deepEqual(
    await sent(context, (url) => ({ kind: 'matrix', url: `${url}/`, token: SECRET, room: '!a/b:c.org' })),
    {
      method: 'PUT',
      url: `/_matrix/client/v3/rooms/!a%2Fb%3Ac.org/send/m.room.message/${'1'.padStart(24, '0')}.raised`,
      authorization: `Bearer ${SECRET}`,
      body: { msgtype: 'm.text', body: LINES },
    },
  );
  assert.deepEqual(
    await sent(context, (url) => ({ kind: 'slack', url: `${url.replace('//', '//user:p%40@')}/services/x` })),
    {
      method: 'POST',
      url: '/services/x',
      authorization: `Basic ${Buffer.from('user:p@').toString('base64')}`,
      body: { text: LINES.replace('<a>', '&lt;a&gt;') },
    },
  );
});

test('a message reports what happened in words', async (context) => {
  const titleOf = async (more: Partial<Alert>) => {
    const { body } = await sent(context, (url) => ({ kind: 'ntfy', url: `${url}/a` }), noticeOf(more));
    return (body as { title: string }).title.replace('küche/<a>: ', '');
  };
  const quiet = { kind: 'quiet', metric: null, value: null, limit: 900 } as const;
  const ended = { ended: 1, reason: 'cleared' } as const;
  assert.equal(await titleOf(quiet), 'no reading for 15 min');
  assert.equal(await titleOf({ ...quiet, metric: 'level', limit: 90_000 }), 'no level for 25 h');
  assert.equal(await titleOf({ ...quiet, ...ended }), 'reports again');
  assert.equal(await titleOf(ended), 'temperature is no longer above 30');
  assert.equal(await titleOf({ ...ended, reason: 'removed' }), 'alert ended, its rule or device was removed');
});

test('an answer that stays an error is a refusal, and neither it nor a failure has the secret', async (context) => {
  const { origin } = await startServer(context, 404);
  for (const [url, type, message] of [
    [origin, NoticeRefused, /^Telegram answered 404$/],
    ['http://127.0.0.1:1', Error, /^Telegram did not answer: /],
  ] as const) {
    const entry = { name: 'phone', kind: 'telegram', url, token: '12:secret', chat: '1' };
    const [receiver] = parseReceivers(JSON.stringify([entry]), 'receivers.yml');
    assert.equal(receiver!.target, 'chat 1');
    await assert.rejects(receiver!.send(noticeOf(), new AbortController().signal), (error: Error) => {
      assert.ok(error instanceof type);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
});

test('each mistake is reported with its key, and without the value', () => {
  const mistakes = (entry: object) => {
    try {
      parseReceivers(JSON.stringify([entry]), 'r.yml');
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      assert.doesNotMatch(error.message, /hunter2/);
      return error.problems.join('; ');
    }
    return '';
  };
  const ntfy = { name: 'a', kind: 'ntfy', url: 'https://ntfy.sh/hunter2' };
  const mail = { name: 'a', kind: 'email', to: 'a@b.org', from: 'c@b.org', server: 'smtps://b.org' };
  assert.equal(mistakes(ntfy), '');
  assert.equal(mistakes(mail), '');
  for (const [entry, expected] of [
    [{ ...ntfy, name: 'a b' }, /name: it must have 1 to 64/],
    [{ ...ntfy, name: 'webhook' }, /webhook is the name of a setting/],
    [{ ...ntfy, kind: 'sms' }, /kind: it must be one of ntfy, telegram, matrix, slack, email, webhook/],
    [{ ...ntfy, kind: 'toString' }, /kind: it must be one of/],
    [{ ...ntfy, url: 'ftp://hunter2' }, /url: it must be a URL with https/],
    [{ ...ntfy, url: 'https://ntfy.sh' }, /url has no topic/],
    [{ ...ntfy, url: 'https://ntfy.sh/%hunter2' }, /does not begin an escape/],
    [{ ...ntfy, token: 'hunter2\nX: y' }, /token: it has characters that no token has/],
    [{ ...ntfy, chat: 'x' }, /chat is not a key of ntfy/],
    [{ name: 'a', kind: 'telegram', chat: '1' }, /telegram needs token/],
    [{ name: 'a', kind: 'telegram', chat: '1', token: 'hunter2' }, /token is not that of a bot/],
    [{ name: 'a', kind: 'webhook', url: 'https://a.org', secret: 'hunter2' }, /fewer than 16 bytes/],
    [{ name: 'a', kind: 'email', to: 'a@b.org' }, /needs server, or a mail server in ALERT_SMTP/],
    [{ name: 'a', kind: 'email', to: 'a@b.org', password: 'hunter2' }, /add server/],
    [{ ...mail, server: 'https://hunter2' }, /must be smtps:\/\/HOST or smtp/],
    [{ ...mail, server: 'smtps://hunter2%@b.org' }, /does not begin an escape/],
    [{ ...mail, server: 'smtps://b.org/hunter2' }, /must be smtps/],
    [{ ...mail, password: 'hunter2' }, /need each other/],
    [{ ...mail, to: 'a@b.org, hunter2@c.org' }, /to must be one e-mail address/],
    [{ ...mail, to: 'a@b.org\r\nBcc: hunter2@c.org' }, /to must be one e-mail address/],
    [{ ...mail, from: 'hunter2' }, /from must be one e-mail address/],
  ] as const)
    assert.match(mistakes(entry), expected, JSON.stringify(entry));
  assert.throws(() => parseReceivers('a: 1', 'r.yml'), /must be a list of receivers/);
  const twice = JSON.stringify([ntfy, ntfy]);
  assert.throws(() => parseReceivers(twice, 'r.yml'), /another receiver has the name a/);
});
