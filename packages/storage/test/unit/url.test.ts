import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseUrl, StoreError } from '../../src/index.ts';
import { choice, embeddedPath, integer, readOptions } from '../../src/options.ts';

function mistake(read: () => unknown): StoreError {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof StoreError);
    assert.equal(error.code, 'MISCONFIGURED');
    assert.ok(error.hint);
    return error;
  }
  return assert.fail('the URL was accepted');
}

describe('parseUrl', () => {
  test('reads the path of an embedded engine as written', () => {
    assert.equal(parseUrl('sqlite:./data/tidegauge.db').path, './data/tidegauge.db');
    assert.equal(parseUrl('sqlite:/var/lib/t.db').path, '/var/lib/t.db');
    assert.equal(parseUrl('sqlite:///var/lib/t.db').path, '/var/lib/t.db');
    assert.equal(parseUrl('json:a%20b%3Fc?x=1').path, 'a b?c');
    assert.deepEqual(parseUrl('json:data').hosts, []);
  });

  test('reads the parts of a server URL', () => {
    const { scheme, hosts, user, password, path, options } = parseUrl(
      'postgres://me:s%40cret@db:5433/tide?x=y&z=',
    );
    assert.deepEqual(
      { scheme, hosts, user, password, path },
      {
        scheme: 'postgres',
        hosts: [{ host: 'db', port: 5433 }],
        user: 'me',
        password: 's@cret',
        path: 'tide',
      },
    );
    assert.deepEqual(
      [...options],
      [
        ['x', 'y'],
        ['z', ''],
      ],
    );
  });

  test('accepts several hosts, with ports and IPv6 addresses', () => {
    const { hosts, path, user } = parseUrl('cassandra://h1,h2:9043,[::1],[fe80::2]:9042/keyspace');
    assert.deepEqual(hosts, [
      { host: 'h1', port: null },
      { host: 'h2', port: 9043 },
      { host: '::1', port: null },
      { host: 'fe80::2', port: 9042 },
    ]);
    assert.deepEqual([path, user], ['keyspace', null]);
  });

  test('returns an empty path for a URL without one', () => {
    assert.equal(parseUrl('mongodb://h').path, '');
    assert.equal(parseUrl('mongodb://h/').path, '');
    assert.equal(parseUrl('mongodb://h?w=1').path, '');
  });

  test('refuses an invalid URL without showing a password', () => {
    for (const text of [
      '',
      'tidegauge.db',
      './data/x.db',
      'postgres://u:hunter2@/db',
      'postgres://u:hunter2@h:99999/db',
      'postgres://u:hunter2@a b:x/db',
      'postgres://u:hunter2%zz@h/db',
      'postgres://u:hunter2?@h/db',
      'postgres://u:hunter2@h/db?x=1&x=2',
    ]) {
      const error = mistake(() => parseUrl(text));
      assert.doesNotMatch(`${error.message} ${error.hint}`, /hunter2/, text);
    }
  });
});

describe('readOptions', () => {
  const schema = {
    synchronous: choice(['full', 'normal'], 'full', 'how durable'),
    cache: integer(1, 100, 'KiB', 8, 'how much'),
  };

  test('reads the given options, and adds defaults', () => {
    assert.deepEqual({ ...readOptions(parseUrl('sqlite:x'), schema) }, { synchronous: 'full', cache: 8 });
    const given = readOptions(parseUrl('sqlite:x?cache=100&synchronous=normal'), schema);
    assert.deepEqual({ ...given }, { synchronous: 'normal', cache: 100 });
  });

  test('names an unknown option and lists the known ones', () => {
    for (const name of ['colour', 'toString', '__proto__']) {
      const error = mistake(() => readOptions(parseUrl(`sqlite:x?${name}=1`), schema));
      assert.match(error.message, new RegExp(`"${name}"`));
      assert.match(error.hint ?? '', /synchronous, cache/);
    }
  });

  test('the hint lists the accepted values of an option', () => {
    for (const cache of ['0', '101', '-1', '1.5', '', 'x', '1e1']) {
      const error = mistake(() => readOptions(parseUrl(`sqlite:x?cache=${cache}`), schema));
      assert.match(error.hint ?? '', /1 to 100 KiB/);
    }
    assert.match(
      mistake(() => readOptions(parseUrl('sqlite:x?synchronous=off'), schema)).hint ?? '',
      /full or normal/,
    );
  });
});

describe('embeddedPath', () => {
  test('accepts a path and no host', () => {
    assert.equal(embeddedPath(parseUrl('sqlite:x/y.db'), 'sqlite:z'), 'x/y.db');
    assert.match(
      mistake(() => embeddedPath(parseUrl('sqlite://data/x.db'), 'sqlite:z')).hint ?? '',
      /sqlite:z/,
    );
    mistake(() => embeddedPath(parseUrl('sqlite:'), 'sqlite:z'));
  });
});
