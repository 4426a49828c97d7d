import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { maskUrl, maskUrls, redactor, secretsIn } from '../../src/index.ts';

/** A text that occurs nowhere else in the URLs. Output that contains it shows the password. */
const CORE = 'HuNtEr2';
const SCHEMES = ['mqtt', 'mqtts', 'wss', 'http', 'postgres', 'mongodb', 'cassandra'];

const scheme = fc.constantFrom(...SCHEMES);
const user = fc.stringMatching(/^[a-z0-9_.%-]{0,8}$/);
const place = fc.constantFrom(
  'h',
  'db.example:5432',
  '[::1]:1883',
  'h1:9042,h2',
  'h/db',
  'h/db?rf=3',
  '127.0.0.1:1/x',
);
const around = fc.string({ unit: fc.constantFrom(...'aZ0/@:?&=#%+;,.!$\\\'"`<>[]é '), maxLength: 6 });
const unspaced = around.map((text) => text.replace(/[\s"'<>`]/g, ''));

describe('maskUrl', () => {
  test('hides any password, with any characters', () => {
    fc.assert(
      fc.property(scheme, user, around, around, place, (name, login, before, after, where) => {
        const url = `${name}://${login}:${before}${CORE}${after}@${where}`;
        const masked = maskUrl(url);
        assert.ok(!masked.includes(CORE), `${url} became ${masked}`);
        assert.ok(masked.startsWith(`${name}://${login}:***@`), masked);
      }),
    );
  });

  test('hides the value of options for secrets, also percent-encoded and among other options', () => {
    const option = fc.constantFrom(
      'password',
      'PASSWORD',
      'p%61ssword',
      'sslpassword',
      'passphrase',
      'pwd',
      'authToken',
      'secret',
      'api_key',
      'clientSecret',
      'credentials',
    );
    const value = unspaced.map((text) => text.replaceAll('&', ''));
    fc.assert(
      fc.property(scheme, place, option, value, value, (name, where, key, before, after) => {
        const url = `${name}://${where}${where.includes('?') ? '&' : '?'}${key}=${before}${CORE}${after}&rf=7`;
        assert.ok(!maskUrl(url).includes(CORE), `${url} became ${maskUrl(url)}`);
      }),
    );
  });

  test('hides a password that looks like a port and an option', () => {
    assert.equal(maskUrl('postgres://u:12345?password=x@h/db'), 'postgres://u:***');
    assert.equal(maskUrl('mqtt://h:1883?password=@secret&rf=7'), 'mqtt://h:***&rf=7');
  });

  test('hides a password whose host is missing', () => {
    for (const url of [`postgres://u:${CORE}`, `postgres://u:${CORE}/db`, `mqtt://h:1883,u:${CORE}?x=1`]) {
      assert.ok(!maskUrl(url).includes(CORE), maskUrl(url));
    }
  });

  test('does not change URLs without secrets', () => {
    for (const url of [
      '',
      'sqlite:./data/t.db?cache=1024',
      'sqlite:/var/lib/a:b.db',
      'mqtt://127.0.0.1:1883',
      'wss://broker.example:443/mqtt?keyspace=x&authSource=admin',
      'postgres://u@h:5432/db',
      'cassandra://h1:9042,[fe80::2]:9042/k?rf=3',
      'null:',
    ]) {
      assert.equal(maskUrl(url), url);
    }
    assert.equal(maskUrl('postgres://u:p@h/db?ssl=1'), 'postgres://u:***@h/db?ssl=1');
    assert.equal(maskUrl('postgres:/u:p@h/db'), 'postgres:/u:***@h/db');
  });

  test('is idempotent', () => {
    fc.assert(
      fc.property(scheme, fc.string(), (name, rest) => {
        const once = maskUrl(`${name}://${rest}`);
        assert.equal(maskUrl(once), once);
      }),
    );
  });
});

test('maskUrls hides the password of every URL in a text and leaves the rest', () => {
  fc.assert(
    fc.property(scheme, user, unspaced, unspaced, place, (name, login, before, after, where) => {
      const url = `${name}://${login}:${before}${CORE}${after}@${where}`;
      const text = maskUrls(`cannot reach "${url}" from ${url}, twice`);
      assert.ok(!text.includes(CORE), text);
      assert.match(text, /^cannot reach ".* from .*, twice$/);
    }),
  );
  assert.equal(maskUrls('no URL: a:b@c'), 'no URL: a:b@c');
});

test('maskUrls keeps the port of a URL that is followed by a colon', () => {
  const text = 'ingest at http://127.0.0.1:9464: connect ECONNREFUSED, http://[::1]:80/live. The end';
  assert.equal(maskUrls(text), text);
  assert.equal(
    maskUrls('store postgres://user:pass@host/db: gone'),
    'store postgres://user:***@host/db: gone',
  );
  assert.equal(maskUrls('store postgres://user:pass: gone'), 'store postgres://user:***: gone');
});

test('redactor hides a secret anywhere in a message, encoded or not', () => {
  fc.assert(
    fc.property(around, (part) => {
      const secret = `${part}${CORE}`;
      const redact = redactor([secret]);
      for (const shown of [
        secret,
        encodeURIComponent(secret),
        `mongodb://u:${secret.replace(/\s/g, '')}@h`,
      ]) {
        assert.ok(!redact(`login failed for ${shown} at h`).includes(CORE), shown);
      }
    }),
  );
  assert.equal(redactor(['a', ''])('a plain text'), 'a plain text');
});

test('secretsIn finds the secrets for redactor, as written and decoded', () => {
  assert.deepEqual(secretsIn('mqtt://u@h:1883'), []);
  assert.deepEqual(secretsIn('postgres://u:p%40ss@h/db'), ['p%40ss', 'p@ss']);
  assert.deepEqual(secretsIn('wss://h/mqtt?token=abc&rf=3'), ['abc']);
  fc.assert(
    fc.property(scheme, user, around, around, place, (name, login, before, after, where) => {
      const url = `${name}://${login}:${before}${CORE}${after}@${where}`;
      assert.ok(!redactor(secretsIn(url))(`the server said ${before}${CORE}${after}`).includes(CORE), url);
    }),
  );
});
