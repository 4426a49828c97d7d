import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { ROOT } from '../stack-files.ts';

// MongoDB is not among our test servers. So the script that creates its replica set runs here with the functions of the
// shell of 4.4, on prepared answers.

interface Config {
  version: number;
  members: { readonly _id: number; readonly host: string }[];
}

type Answer = Readonly<Record<string, unknown>>;

/** The primary, with the functions that a shell has for it. */
class Member {
  config: Config | null = null;
  readonly users = new Map<string, unknown>();

  get hosts(): string[] {
    return this.config?.members.map(({ host }) => host) ?? [];
  }

  command(database: string, { isMaster, ...command }: Record<string, unknown>): Answer {
    if (isMaster) return { ok: 1, ismaster: true, ...(this.config && { setName: 's', hosts: this.hosts }) };
    const [[name, value]] = Object.entries(command) as [[string, unknown]];
    switch (name) {
      case 'replSetInitiate':
        assert.equal(this.config, null);
        this.config = { version: 1, members: (value as Config).members };
        return { ok: 1 };
      case 'replSetGetConfig':
        return { ok: 1, config: structuredClone(this.config) };
      case 'replSetReconfig':
        return this.#reconfigure(value as Config);
      case 'createUser':
        if (this.users.has(`${database}.${value}`))
          return { ok: 0, errmsg: `User "${value}" already exists` };
        break;
      case 'updateUser':
        break;
      default:
        return { ok: 0, errmsg: `no such command: '${name}'` };
    }
    const { pwd, roles } = command;
    this.users.set(`${database}.${value}`, { pwd, roles });
    return { ok: 1 };
  }

  #reconfigure(config: Config): Answer {
    const after = config.members.map(({ host }) => host);
    const changed = [...this.hosts, ...after].filter(
      (host, _, all) => all.indexOf(host) === all.lastIndexOf(host),
    );
    // https://www.mongodb.com/docs/manual/reference/method/rs.reconfig/
    assert.equal(changed.length, 1, 'one member at a time');
    assert.equal(config.version, this.config!.version + 1);
    const ids = config.members.map(({ _id }) => _id);
    assert.equal(new Set(ids).size, ids.length);
    this.config = structuredClone(config);
    return { ok: 1 };
  }
}

function run(member: Member, hosts: readonly string[], secrets: Readonly<Record<string, string>>): void {
  const connection = {
    getDB: (name: string) => ({
      auth: (user: string, password: string) => user === 'admin' && password === 'adm1n',
      runCommand: (command: Record<string, unknown>) => member.command(name, command),
      getSiblingDB: (sibling: string) => connection.getDB(sibling),
    }),
  };
  runInNewContext(readFileSync(join(ROOT, 'stacks/mongodb/replica-set.js'), 'utf8'), {
    db: { getMongo: () => connection },
    hosts: hosts.join(),
    secrets: '/run/secrets',
    cat: (path: string) => secrets[path.replace('/run/secrets/', '')],
    print: () => {},
  });
}

const ALL = ['mongodb-1:27017', 'mongodb-2:27017', 'mongodb-3:27017'];
const SECRETS = {
  password: 'adm1n\n',
  store_url: 'mongodb://tidegauge:abc123@mongodb-1,mongodb-2,mongodb-3/tidegauge?replicaSet=tidegauge',
};
const USER = { pwd: 'abc123', roles: [{ role: 'readWrite', db: 'tidegauge' }] };

test('a replica set is created once, and grows and shrinks by one member at a time', () => {
  const member = new Member();
  for (const hosts of [ALL, ALL, ALL.slice(0, 1), ALL.slice(0, 1)]) {
    run(member, hosts, SECRETS);
    assert.deepEqual(member.hosts, hosts);
    assert.deepEqual(member.config!.version, hosts.length === 3 ? 3 : 5);
  }
});

test('Tidegauge’s user owns only its database, and a second run sets the password of the URL', () => {
  const member = new Member();
  run(member, ALL.slice(0, 1), SECRETS);
  assert.deepEqual(JSON.parse(JSON.stringify([...member.users])), [['tidegauge.tidegauge', USER]]);
  run(member, ALL.slice(0, 1), { ...SECRETS, store_url: SECRETS.store_url.replace('abc123', 'def456') });
  assert.deepEqual(JSON.parse(JSON.stringify([...member.users])), [
    ['tidegauge.tidegauge', { ...USER, pwd: 'def456' }],
  ]);
});

test('a wrong password of the administrator, or a wrong URL, is an error with the reason', () => {
  const member = new Member();
  assert.throws(() => run(member, ALL, { ...SECRETS, password: 'other' }), /administrator cannot log in/);
  assert.throws(
    () => run(member, ALL, { ...SECRETS, store_url: 'postgres://x' }),
    /tidegauge_mongodb_store_url/,
  );
});
