import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SqlError } from 'mariadb';
import { StoreError, type StoreErrorCode } from '../../src/index.ts';
import { readConfig } from '../../src/mariadb/config.ts';
import { toStoreError } from '../../src/mariadb/errors.ts';
import { parseUrl } from '../../src/url.ts';

const CONFIG = readConfig(parseUrl('mariadb://user:password@db.example:3307/tides'));
// The driver's own lists, which it does not export.
const driver = import.meta.resolve('mariadb');
const { client } = (await import(new URL('lib/misc/errors.js', driver).href)) as {
  client: Record<string, number>;
};
const { default: codes } = (await import(new URL('lib/const/error-code.js', driver).href)) as {
  default: Record<number, string>;
};

function mapped(errno: number, cause?: Error): StoreError {
  const error = new SqlError('what happened', undefined, false, undefined, 'HY000', errno);
  if (cause !== undefined) error.cause = cause;
  const result = toStoreError(error, CONFIG);
  assert.ok(result instanceof StoreError);
  return result;
}

function numberOf(name: string): number {
  const found = client[name] ?? Number(Object.entries(codes).find(([, code]) => code === name)?.[0]);
  assert.ok(found > 0, `the driver has no error ${name}`);
  return found;
}

const NAMES: Readonly<Partial<Record<StoreErrorCode, readonly string[]>>> = {
  UNAVAILABLE: [
    ...['ER_DISK_FULL', 'ER_RECORD_FILE_FULL', 'ER_OPTION_PREVENTS_STATEMENT', 'ER_SERVER_SHUTDOWN'],
    ...['ER_CONNECTION_KILLED', 'ER_SOCKET_UNEXPECTED_CLOSE', 'ER_CONNECTION_TIMEOUT'],
    ...['ER_CMD_CONNECTION_CLOSED', 'ER_CMD_NOT_EXECUTED_DESTROYED', 'ER_CONNECTION_ALREADY_CLOSED'],
  ],
  OVERLOADED: [
    ...['ER_CON_COUNT_ERROR', 'ER_TOO_MANY_USER_CONNECTIONS', 'ER_MAX_PREPARED_STMT_COUNT_REACHED'],
    ...['ER_LOCK_WAIT_TIMEOUT', 'ER_LOCK_DEADLOCK', 'ER_OUT_OF_RESOURCES'],
  ],
  MISCONFIGURED: [
    ...['ER_ACCESS_DENIED_ERROR', 'ER_DBACCESS_DENIED_ERROR', 'ER_TABLEACCESS_DENIED_ERROR'],
    ...['ER_BAD_DB_ERROR', 'ER_NO_SUCH_TABLE', 'ER_BAD_FIELD_ERROR', 'ER_HOST_NOT_PRIVILEGED'],
    ...['ER_AUTHENTICATION_PLUGIN_NOT_SUPPORTED', 'ER_UNKNOWN_COLLATION', 'ER_PARSE_ERROR'],
  ],
  REJECTED: ['ER_DATA_TOO_LONG', 'ER_NET_PACKET_TOO_LARGE', 'ER_TOO_BIG_ROWSIZE', 'ER_MAX_ALLOWED_PACKET'],
  TIMEOUT: ['ER_STATEMENT_TIMEOUT', 'ER_QUERY_INTERRUPTED'],
};

describe('errors of MariaDB', () => {
  for (const [code, names] of Object.entries(NAMES)) {
    test(`are ${code} by their names`, () => {
      for (const name of names) assert.equal(mapped(numberOf(name)).code, code, name);
    });
  }

  test('contain the host, the database, the cause and a hint, for each error that the driver lists', () => {
    const all = [...Object.values(client), ...Object.keys(codes).map(Number)];
    assert.ok(all.length > 1000);
    for (const errno of all) {
      const error = mapped(errno);
      assert.match(error.message, /^mariadb db\.example:3307\/tides: .*what happened/);
      assert.ok(error.hint);
      assert.ok(error.cause instanceof Error);
    }
  });

  test('are UNEXPECTED if their number is unknown, and UNAVAILABLE if they come from the network', () => {
    assert.equal(mapped(9999).code, 'UNEXPECTED');
    assert.equal(mapped(45_999).code, 'UNEXPECTED');
    assert.equal(mapped(-104).code, 'UNAVAILABLE');
  });

  test('are mapped by their root cause', () => {
    const denied = new SqlError('denied', undefined, true, undefined, '28000', 1045);
    assert.equal(mapped(client.ER_INITIAL_SQL_ERROR!, denied).code, 'MISCONFIGURED');
  });

  test('leave errors that do not come from MariaDB as they are', () => {
    const bug = new RangeError('a bug');
    assert.equal(toStoreError(bug, CONFIG), bug);
  });
});
